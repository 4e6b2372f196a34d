package convert_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/vapshadow/vapshadow/engine/convert"
)

// shape spells out what JSON a type has: field names, what is left out when empty, pointers, and what marshals
// itself. Two types of one shape read and write the same JSON.
func shape(t reflect.Type, within []reflect.Type) string {
	if slices.Contains(within, t) {
		return "(recursive)"
	}
	within = append(within, t)
	if marshalsItself(t) {
		return t.String()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + shape(t.Elem(), within)
	case reflect.Slice:
		return "[]" + shape(t.Elem(), within)
	case reflect.Map:
		return "map[" + shape(t.Key(), within) + "]" + shape(t.Elem(), within)
	case reflect.Struct:
		fields := make([]string, t.NumField())
		for i := range fields {
			field := t.Field(i)
			fields[i] = fmt.Sprintf("%s: %s", field.Tag.Get("json"), shape(field.Type, within))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	default:
		return t.Kind().String()
	}
}

func marshalsItself(t reflect.Type) bool {
	type marshaler interface{ MarshalJSON() ([]byte, error) }
	return t.Implements(reflect.TypeFor[marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[marshaler]())
}

func shapeOf(t *testing.T, kind schema.GroupVersionKind) string {
	t.Helper()
	obj, err := scheme.Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	return shape(reflect.TypeOf(obj), nil)
}

func TestSameShapesAreTheSame(t *testing.T) {
	for kind, versions := range convert.SameShapes {
		for _, version := range versions[1:] {
			t.Run(kind.String()+" "+version, func(t *testing.T) {
				want, got := shapeOf(t, kind.WithVersion(versions[0])), shapeOf(t, kind.WithVersion(version))
				if want != got {
					t.Errorf("%s is\n%s\n%s is\n%s", versions[0], want, version, got)
				}
			})
		}
	}
}

// The shapes of these do differ, so the test above can tell.
func TestShapesThatDiffer(t *testing.T) {
	for _, kinds := range [][2]schema.GroupVersionKind{
		{{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}, {Group: "resource.k8s.io", Version: "v1beta1", Kind: "ResourceClaim"}},
		{{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}, {Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}},
		{{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "PriorityLevelConfiguration"}, {Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3", Kind: "PriorityLevelConfiguration"}},
	} {
		if shapeOf(t, kinds[0]) == shapeOf(t, kinds[1]) {
			t.Errorf("%s and %s have one shape", kinds[0], kinds[1])
		}
	}
}

func TestSameShapesChangeOnlyAPIVersion(t *testing.T) {
	for kind, versions := range convert.SameShapes {
		obj := map[string]any{
			"apiVersion": kind.WithVersion(versions[0]).GroupVersion().String(), "kind": kind.Kind,
			"metadata": map[string]any{"name": "n"}, "spec": map[string]any{"a": int64(1)},
		}
		for _, version := range versions[1:] {
			to := kind.WithVersion(version)
			out, err := convert.Convert(obj, to, false, "")
			if err != nil {
				t.Fatal(err)
			}
			if kindOf(out) != to {
				t.Errorf("kind is %s, want %s", kindOf(out), to)
			}
			out["apiVersion"] = obj["apiVersion"]
			if !reflect.DeepEqual(out, obj) {
				t.Errorf("%s: more than apiVersion changed: %v", to, out)
			}
		}
	}
}
