package value_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/vapshadow/vapshadow/engine/value"
)

// recorded is what an apiserver showed to its policies for one request.
type recorded struct {
	Kind            string
	Object          map[string]any
	OldObject       map[string]any
	Request         map[string]any
	NamespaceObject map[string]any
}

func recordings(tb testing.TB) []recorded {
	tb.Helper()
	data, err := os.ReadFile("testdata/recorded.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	var all []recorded
	for line := range strings.Lines(string(data)) {
		var fields map[string]any
		if err := utiljson.Unmarshal([]byte(line), &fields); err != nil {
			tb.Fatal(err)
		}
		object := func(name string) map[string]any { o, _ := fields[name].(map[string]any); return o }
		all = append(all, recorded{
			Kind: fields["kind"].(string), Object: object("object"), OldObject: object("oldObject"),
			Request: object("request"), NamespaceObject: object("namespaceObject"),
		})
	}
	return all
}

var limit = map[string]any{
	"apiVersion": "v1", "kind": "ReplicaLimit", "maxReplicas": int64(5), "ratio": 0.5, "note": nil,
	"metadata": map[string]any{"name": "limit", "labels": map[string]any{"app": "x", "team": "a"}},
	"data":     map[string]any{"limit": "5"},
}

// asJSON are the variables of an expression where all objects are JSON.
func (r recorded) asJSON(view func(map[string]any) ref.Val) map[string]any {
	variables := map[string]any{}
	for name, content := range map[string]map[string]any{
		"object": r.Object, "oldObject": r.OldObject, "request": r.Request,
		"namespaceObject": r.NamespaceObject, "params": limit,
	} {
		variables[name] = types.NullValue
		if content != nil {
			variables[name] = view(content)
		}
	}
	return variables
}

// asStructs are the variables of an expression where objects are Go structs, but for params.
func (r recorded) asStructs(tb testing.TB, view func(any) ref.Val, params ref.Val) map[string]any {
	tb.Helper()
	decode := func(content map[string]any, into any) ref.Val {
		if content == nil {
			return types.NullValue
		}
		data, err := json.Marshal(content)
		if err != nil {
			tb.Fatal(err)
		}
		if err := json.Unmarshal(data, into); err != nil {
			tb.Fatal(err)
		}
		return view(into)
	}
	kind := r.kind()
	if !scheme.Scheme.Recognizes(kind) {
		tb.Skipf("%s is a custom resource.", kind.Kind)
	}
	object := func() any {
		o, err := scheme.Scheme.New(kind)
		if err != nil {
			tb.Fatal(err)
		}
		return o
	}
	return map[string]any{
		"object": decode(r.Object, object()), "oldObject": decode(r.OldObject, object()),
		"request":         decode(r.Request, &admissionv1.AdmissionRequest{}),
		"namespaceObject": decode(r.NamespaceObject, &corev1.Namespace{}),
		"params":          params,
	}
}

func (r recorded) kind() schema.GroupVersionKind {
	version, kind, _ := strings.Cut(r.Kind, ", Kind=")
	gv, _ := schema.ParseGroupVersion(strings.TrimPrefix(version, "/"))
	return gv.WithKind(kind)
}

func theirJSON(content map[string]any) ref.Val {
	return types.DefaultTypeAdapter.NativeToValue(content)
}

func TestRecordedJSON(t *testing.T) {
	programs := expressions(t)
	for _, r := range recordings(t) {
		t.Run(r.Kind, func(t *testing.T) {
			ours, theirs := r.asJSON(value.OfJSON), r.asJSON(theirJSON)
			for _, source := range slices.Sorted(maps.Keys(programs)) {
				compare(t, source, programs[source], ours, theirs)
			}
		})
	}
}

func TestRecordedStructs(t *testing.T) {
	programs := expressions(t)
	for _, r := range recordings(t) {
		t.Run(r.Kind, func(t *testing.T) {
			ours := r.asStructs(t, value.OfStruct, value.OfJSON(limit))
			theirs := r.asStructs(t, common.SchemalessTypedToVal, theirJSON(limit))
			for _, source := range slices.Sorted(maps.Keys(programs)) {
				compare(t, source, programs[source], ours, theirs)
			}
		})
	}
}

// TestMixed compares a struct with the same object as JSON, which no policy of one apiserver version does, but which
// makes every view meet every other.
func TestMixed(t *testing.T) {
	programs := expressions(t)
	for _, r := range recordings(t) {
		t.Run(r.Kind, func(t *testing.T) {
			ours := r.asStructs(t, value.OfStruct, value.OfJSON(limit))
			theirs := r.asStructs(t, common.SchemalessTypedToVal, theirJSON(limit))
			ours["oldObject"], theirs["oldObject"] = r.asJSON(value.OfJSON)["object"], r.asJSON(theirJSON)["object"]
			for _, source := range slices.Sorted(maps.Keys(programs)) {
				if strings.Contains(source, "oldObject") {
					compare(t, source, programs[source], ours, theirs)
				}
			}
			ours["object"], ours["oldObject"] = ours["oldObject"], ours["object"]
			theirs["object"], theirs["oldObject"] = theirs["oldObject"], theirs["object"]
			for _, source := range slices.Sorted(maps.Keys(programs)) {
				if strings.Contains(source, "oldObject") {
					compare(t, source, programs[source], ours, theirs)
				}
			}
		})
	}
}
