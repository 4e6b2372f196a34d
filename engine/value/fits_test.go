package value_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/engine/value"
)

// TestFits: what is said to fit can be read, whatever the kind, be the JSON that of an object or changed somewhere.
func TestFits(t *testing.T) {
	types := apiTypes()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(types).Draw(t, "type")
		data, err := json.Marshal(drawStruct(t, kind))
		if err != nil {
			t.Skip(err)
		}
		var content map[string]any
		if err := kjson.Unmarshal(data, &content); err != nil {
			t.Fatal(err)
		}
		content, _ = otherwise(t, content).(map[string]any)
		if !value.Fits(content, kind) {
			return
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, reflect.New(kind).Interface()); err != nil {
			t.Errorf("a %v is said to fit, and does not: %v", kind, err)
		}
	})
}

// apiTypes are the Go structs of the built-in kinds, sorted.
func apiTypes() []reflect.Type {
	types := slices.SortedFunc(maps.Values(scheme.Scheme.AllKnownTypes()), func(a, b reflect.Type) int {
		return strings.Compare(a.String(), b.String())
	})
	types = slices.DeleteFunc(types, func(t reflect.Type) bool {
		return !strings.HasPrefix(t.PkgPath(), "k8s.io/api/") || t == reflect.TypeFor[corev1.List]()
	})
	return append(types, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]())
}

// otherwise replaces at most one value.
func otherwise(t *rapid.T, v any) any {
	other := []any{v, nil, "", "text", "100m", "2026-01-02T03:04:05Z", "AA==", int64(7), int64(1) << 40, 1.5, true, []any{}, []any{"a"}, map[string]any{}, map[string]any{"a": "b"}}
	switch x := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(x))
		if i := rapid.IntRange(-1, len(keys)-1).Draw(t, "key"); i >= 0 {
			x = maps.Clone(x)
			x[keys[i]] = otherwise(t, x[keys[i]])
			return x
		}
	case []any:
		if i := rapid.IntRange(-1, len(x)-1).Draw(t, "element"); i >= 0 {
			x = slices.Clone(x)
			x[i] = otherwise(t, x[i])
			return x
		}
	}
	return rapid.SampledFrom(other).Draw(t, "other")
}

// TestUsualObjectsFit: an object as it usually is, is not tried.
func TestUsualObjectsFit(t *testing.T) {
	data, err := json.Marshal(benchmarkPod())
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := kjson.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	if !value.Fits(content, reflect.TypeFor[corev1.Pod]()) {
		t.Error("a Pod does not fit")
	}
	content["spec"].(map[string]any)["nodeName"] = int64(1)
	if value.Fits(content, reflect.TypeFor[corev1.Pod]()) {
		t.Error("a nodeName that is a number fits")
	}
}
