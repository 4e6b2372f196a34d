package value_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/vapshadow/vapshadow/engine/value"
)

// The operands are the same values, shown by vapshadow and by the apiserver.
var ours, theirs = operands(value.OfStruct, value.OfJSON), operands(common.SchemalessTypedToVal, theirJSON)

// describe writes down what a call gives, panics included.
func describe(call func() any) (out string) {
	defer func() {
		if p := recover(); p != nil {
			out = value.Message(fmt.Sprintf("panic: %v", p))
		}
	}()
	switch v := call().(type) {
	case ref.Val:
		return value.Message(render(v))
	default:
		return value.Message(fmt.Sprintf("%v", v))
	}
}

// check holds what a call gives against what it can give in the apiserver, but for the order.
func check(t *testing.T, name string, ours, theirs func() any) {
	t.Helper()
	got, want := describe(ours), describe(theirs)
	if strings.Contains(got, value.RoundedTimes) {
		return
	}
	for range 50 {
		if got == want || shuffled(got) == shuffled(want) {
			return
		}
		// The apiserver shows a view that is no key by its memory addresses.
		if before, _, found := strings.Cut(want, "&{{0x"); found && strings.HasPrefix(got, before) {
			return
		}
		want = describe(theirs)
	}
	t.Errorf("%s (-apiserver +vapshadow):\n%s", name, cmp.Diff(want, got))
}

func TestShapes(t *testing.T) {
	calls := map[string]func(v ref.Val) any{
		"value":  func(v ref.Val) any { return v },
		"type":   func(v ref.Val) any { return v.Type().TypeName() },
		"native": func(v ref.Val) any { return fmt.Sprintf("%T", v.Value()) },
		"zero":   func(v ref.Val) any { z, ok := v.(traits.Zeroer); return ok && z.IsZeroValue() },
		"sizer":  func(v ref.Val) any { _, ok := v.(traits.Sizer); return ok },
		"twice":  func(v ref.Val) any { return again(v) },
		"format": func(v ref.Val) any { return types.Format(v) },
		"walk":   func(v ref.Val) any { return walk(v) },
		"fold":   func(v ref.Val) any { return fold(v, 99) },
		"stop":   func(v ref.Val) any { return len(fold(v, 1)) },
	}
	for i := range ours {
		for name, call := range calls {
			check(t, fmt.Sprintf("%s of %d, %s", name, i, describe(func() any { return theirs[i] })),
				func() any { return call(ours[i]) }, func() any { return call(theirs[i]) })
		}
	}
}

// again says of which members a map or list gives the very same value each time.
func again(v ref.Val) string {
	out := ""
	switch m := v.(type) {
	case traits.Mapper:
		for it := m.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			out += fmt.Sprint(key, same(m.Get(key), m.Get(key)), ";")
		}
	case traits.Lister:
		for i := range m.Size().(types.Int) {
			out += fmt.Sprint(same(m.Get(i), m.Get(i)), ";")
		}
	}
	return out
}

// same says whether two values are one key of a map. Those that cannot be keys are no matter.
func same(a, b ref.Val) bool {
	return reflect.TypeOf(a).Comparable() && a == b
}

// walk follows an iterator to its end.
func walk(v ref.Val) string {
	iterable, ok := v.(traits.Iterable)
	if !ok {
		return "not iterable"
	}
	out := ""
	for it := iterable.Iterator(); it.HasNext() == types.True; {
		out += render(it.Next()) + ";"
	}
	return out
}

// folder reads what a comprehension with two variables does, up to some entries.
type folder struct {
	entries []string
	most    int
}

func (f *folder) FoldEntry(key, val any) bool {
	native := types.DefaultTypeAdapter.NativeToValue
	f.entries = append(f.entries, render(native(key))+": "+render(native(val))+";")
	return len(f.entries) < f.most
}

func fold(v ref.Val, most int) []string {
	f := folder{most: most}
	switch m := v.(type) {
	case traits.Mapper:
		types.ToFoldableMap(m).Fold(&f)
	case traits.Lister:
		types.ToFoldableList(m).Fold(&f)
	}
	return f.entries
}

func TestOperands(t *testing.T) {
	calls := map[string]func(v, arg ref.Val) any{
		"equal": func(v, arg ref.Val) any { return v.Equal(arg) },
		"get":   func(v, arg ref.Val) any { return v.(traits.Indexer).Get(arg) },
		"find": func(v, arg ref.Val) any {
			out, found := v.(traits.Mapper).Find(arg)
			return fmt.Sprint(describe(func() any { return out }), found)
		},
		"contains": func(v, arg ref.Val) any { return v.(traits.Container).Contains(arg) },
		"isSet":    func(v, arg ref.Val) any { return v.(traits.FieldTester).IsSet(arg) },
		"add":      func(v, arg ref.Val) any { return v.(traits.Adder).Add(arg) },
		"add nothing": func(v, arg ref.Val) any {
			sum := v.(traits.Adder).Add(arg)
			return fmt.Sprint(same(sum, v), same(sum, arg))
		},
	}
	for i := range ours {
		for j := range ours {
			for name, call := range calls {
				check(t, fmt.Sprintf("%s of %d and %d", name, i, j),
					func() any { return call(ours[i], ours[j]) }, func() any { return call(theirs[i], theirs[j]) })
			}
		}
	}
}

func TestConversions(t *testing.T) {
	natives := []reflect.Type{
		reflect.TypeFor[any](), reflect.TypeFor[string](), reflect.TypeFor[[]string](), reflect.TypeFor[[]any](),
		reflect.TypeFor[map[string]any](), reflect.TypeFor[map[string]string](), reflect.TypeFor[*inline](), reflect.TypeFor[inline](),
		reflect.TypeFor[fmt.Formatter](), types.JSONValueType, types.JSONListType, types.JSONStructType,
		reflect.TypeFor[ref.Val](), reflect.TypeFor[traits.Sizer](),
	}
	// The dynamic type of what an interface asks for is the view's own.
	native := func(v ref.Val, to reflect.Type) any {
		out, err := v.ConvertToNative(to)
		return fmt.Sprintf("%T %v", out, err)
	}
	for i := range ours {
		for _, to := range []ref.Type{types.MapType, types.ListType, types.TypeType, types.StringType, types.IntType, types.BoolType} {
			check(t, fmt.Sprintf("%d to %s", i, to.TypeName()),
				func() any { return ours[i].ConvertToType(to) }, func() any { return theirs[i].ConvertToType(to) })
		}
		for _, to := range natives {
			check(t, fmt.Sprintf("%d to %s", i, to), func() any { return native(ours[i], to) }, func() any { return native(theirs[i], to) })
		}
	}
}
