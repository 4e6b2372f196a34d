package value_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/cel-go/common/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/engine/value"
)

// box makes a struct of any value, for only structs are compared as Go values.
type box struct {
	Any any `json:"any"`
}

// equal says whether CEL takes two structs for equal.
func equal(a, b any) any { return value.OfStruct(a).Equal(value.OfStruct(b)) }

func TestEqual(t *testing.T) {
	text, other := "a", "b"
	at := time.Unix(1, 0)
	cyclic := func(depth int) *box {
		b := &box{}
		for range depth {
			b = &box{Any: b}
		}
		return b
	}
	limits := func(pairs ...string) corev1.ResourceList {
		list := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return list
	}
	for _, c := range []struct {
		name string
		a, b any
		want bool
	}{
		{"quantities by value", limits("cpu", "1", "memory", "1Gi"), limits("cpu", "1000m", "memory", "1024Mi"), true},
		{"other quantities", limits("cpu", "1"), limits("cpu", "2"), false},
		{"other keys", limits("cpu", "0"), limits("memory", "0"), false},
		{"more keys", limits("cpu", "1"), limits("cpu", "1", "memory", "1"), false},
		{"quantity by pointer", &box{resource.NewQuantity(1, resource.DecimalSI)}, &box{resource.NewMilliQuantity(1000, resource.BinarySI)}, true},
		{"nil and empty map", map[string]string(nil), map[string]string{}, true},
		{"nil and empty list", []string(nil), []string{}, true},
		{"nil and filled list", []string(nil), []string{""}, false},
		{"lists", []string{"a", "b"}, []string{"a", "b"}, true},
		{"other order", []string{"a", "b"}, []string{"b", "a"}, false},
		{"prefix", []string{"a"}, []string{"a", "b"}, false},
		{"bytes", []byte{1, 2}, []byte{1, 2}, true},
		{"other bytes", []byte{1, 2}, []byte{1, 3}, false},
		{"pointers", &text, &[]string{"a"}[0], true},
		{"other pointers", &text, &other, false},
		{"nil pointers", (*string)(nil), (*string)(nil), true},
		{"nil and zero pointer", (*string)(nil), new(string), false},
		{"zero and nil pointer", new(string), (*string)(nil), false},
		{"nil and zero", nil, "", false},
		{"other types", "a", corev1.DNSPolicy("a"), false},
		{"other struct types", metav1.ObjectMeta{}, metav1.ListMeta{}, false},
		{"int kinds", int32(1), int64(1), false},
		{"ints", int32(1), int32(1), true},
		{"unsigned", uint(1), uint(2), false},
		{"floats", 1.5, 1.5, true},
		{"other floats", 1.5, 1.25, false},
		{"bools", true, false, false},
		{"arrays", [2]int{1, 2}, [2]int{1, 2}, true},
		{"other arrays", [2]int{1, 2}, [2]int{2, 1}, false},
		{"times by instant", metav1.NewTime(at), metav1.NewTime(at.In(time.FixedZone("", 3600))), true},
		{"other times", metav1.NewTime(at), metav1.NewTime(at.Add(1)), false},
		{"micro times", metav1.NewMicroTime(at), metav1.NewMicroTime(at.UTC()), true},
		{"other nanoseconds", metav1.NewMicroTime(at), metav1.NewMicroTime(at.Add(1)), false},
		{"managed fields", metav1.NewFieldsV1(`{"a":{}}`), metav1.NewFieldsV1(`{"a":{}}`), true},
		{"managed fields by pointer", metav1.NewFieldsV1(`{}`), metav1.NewFieldsV1(`{ }`), false},
		{"selectors", &struct{ Selector fields.Selector }{fields.Everything()}, &struct{ Selector fields.Selector }{fields.SelectorFromSet(nil)}, true},
		{"other selectors", &struct{ Selector fields.Selector }{fields.Everything()}, &struct{ Selector fields.Selector }{fields.OneTermEqualSelector("a", "b")}, false},
		{"int or string", intstr.FromInt32(1), intstr.FromString("1"), false},
		{"raw and object", runtime.RawExtension{Raw: []byte("{}")}, runtime.RawExtension{Object: &metav1.CreateOptions{}}, false},
		{"objects", runtime.RawExtension{Object: &metav1.CreateOptions{}}, runtime.RawExtension{Object: &metav1.CreateOptions{DryRun: []string{}}}, true},
		{"other objects", runtime.RawExtension{Object: &metav1.CreateOptions{}}, runtime.RawExtension{Object: &metav1.UpdateOptions{}}, false},
		{"deep", cyclic(50), cyclic(50), true},
		{"deeper", cyclic(50), cyclic(51), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := &box{c.a}, &box{c.b}
			if got := equality.Semantic.DeepEqual(a, b); got != c.want {
				t.Fatalf("The apiserver says %v.", got)
			}
			if got := equal(a, b); got != types.Bool(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if got := equal(b, a); got != types.Bool(c.want) {
				t.Errorf("turned round: got %v, want %v", got, c.want)
			}
		})
	}
}

// TestEqualHidden compares structs with a field that Go does not let the apiserver read.
func TestEqualHidden(t *testing.T) {
	type hidden struct{ text string }
	try := func(compare func() any) (out string) {
		defer func() { out = fmt.Sprint(out, recover() != nil) }()
		return fmt.Sprint(compare())
	}
	a, b := &box{hidden{"a"}}, &box{hidden{"b"}}
	got := try(func() any { return equal(a, b) })
	want := try(func() any { return equality.Semantic.DeepEqual(a, b) })
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEqualGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		object := drawStruct(t, kind)
		other := drawOther(t, kind)(object)
		holdFields(t, reflect.ValueOf(object).Elem(), reflect.ValueOf(other).Elem(), 3)
	})
}

// holdFields compares two structs, and their fields that are structs.
func holdFields(t *rapid.T, a, b reflect.Value, depth int) {
	want := types.Bool(equality.Semantic.DeepEqual(a.Interface(), b.Interface()))
	if got := equal(&box{a.Interface()}, &box{b.Interface()}); got != want {
		t.Errorf("%s by value: got %v, want %v", a.Type(), got, want)
	}
	if got := equal(&box{a.Addr().Interface()}, &box{b.Addr().Interface()}); got != want {
		t.Errorf("%s by address: got %v, want %v", a.Type(), got, want)
	}
	for i := range a.NumField() {
		if depth > 0 && a.Field(i).Kind() == reflect.Struct && a.Type().Field(i).IsExported() && a.Type().Field(i).Type != reflect.TypeFor[time.Time]() {
			holdFields(t, a.Field(i), b.Field(i), depth-1)
		}
	}
}
