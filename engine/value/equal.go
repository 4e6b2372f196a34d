package value

import (
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// equalValues compares as equality.Semantic does: quantities and times by what they say, nil and empty maps and slices
// as the same, values of different Go types never. What it saves is looking up each value's type in turn.
func equalValues(a, b reflect.Value) bool {
	return a.Type() == b.Type() && shapeOf(a.Type()).equals(a, b)
}

// comparison makes the comparison of two values of a type.
func comparison(t reflect.Type) func(a, b reflect.Value) bool {
	if f, ok := equality.Semantic.Equalities[t]; ok {
		return declared(f)
	}
	switch t.Kind() {
	case reflect.Struct:
		return structComparison(t)
	case reflect.Pointer:
		elem := shapeOf(t.Elem())
		return func(a, b reflect.Value) bool {
			if a.IsNil() || b.IsNil() {
				return a.IsNil() == b.IsNil()
			}
			return elem.equals(a.Elem(), b.Elem())
		}
	case reflect.Interface:
		return func(a, b reflect.Value) bool {
			if a.IsNil() || b.IsNil() {
				return a.IsNil() == b.IsNil()
			}
			return equalValues(a.Elem(), b.Elem())
		}
	case reflect.Slice:
		return sliceComparison(t)
	case reflect.Map:
		return mapComparison(t)
	case reflect.String:
		return func(a, b reflect.Value) bool { return a.String() == b.String() }
	case reflect.Bool:
		return func(a, b reflect.Value) bool { return a.Bool() == b.Bool() }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(a, b reflect.Value) bool { return a.Int() == b.Int() }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(a, b reflect.Value) bool { return a.Uint() == b.Uint() }
	}
	return undeclared
}

// undeclared leaves a comparison to equality.Semantic.
func undeclared(a, b reflect.Value) bool {
	return equality.Semantic.DeepEqual(a.Interface(), b.Interface())
}

// declared calls one of the functions that equality.Semantic has for a type.
func declared(f reflect.Value) func(a, b reflect.Value) bool {
	switch f := f.Interface().(type) {
	case func(a, b resource.Quantity) bool:
		return func(a, b reflect.Value) bool { return f(get[resource.Quantity](a), get[resource.Quantity](b)) }
	case func(a, b metav1.Time) bool:
		return func(a, b reflect.Value) bool { return f(get[metav1.Time](a), get[metav1.Time](b)) }
	case func(a, b metav1.MicroTime) bool:
		return func(a, b reflect.Value) bool { return f(get[metav1.MicroTime](a), get[metav1.MicroTime](b)) }
	case func(a, b metav1.FieldsV1) bool:
		return func(a, b reflect.Value) bool { return f(get[metav1.FieldsV1](a), get[metav1.FieldsV1](b)) }
	}
	return func(a, b reflect.Value) bool { return f.Call([]reflect.Value{a, b})[0].Bool() }
}

func structComparison(t reflect.Type) func(a, b reflect.Value) bool {
	fields := make([]*shape, t.NumField())
	for i := range fields {
		if !t.Field(i).IsExported() {
			return undeclared // Which panics, unless a difference stands before the field.
		}
		fields[i] = shapeOf(t.Field(i).Type)
	}
	return func(a, b reflect.Value) bool {
		for i, f := range fields {
			if !f.equals(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
}

func sliceComparison(t reflect.Type) func(a, b reflect.Value) bool {
	elem := shapeOf(t.Elem())
	return func(a, b reflect.Value) bool {
		if a.Len() != b.Len() {
			return false
		}
		if a.Pointer() == b.Pointer() {
			return true
		}
		for i := range a.Len() {
			if !elem.equals(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
}

func mapComparison(t reflect.Type) func(a, b reflect.Value) bool {
	if t == reflect.TypeFor[map[string]string]() {
		return func(a, b reflect.Value) bool { return maps.Equal(get[map[string]string](a), get[map[string]string](b)) }
	}
	elem := shapeOf(t.Elem())
	return func(a, b reflect.Value) bool {
		if a.Len() != b.Len() {
			return false
		}
		if a.Pointer() == b.Pointer() {
			return true
		}
		for it := a.MapRange(); it.Next(); {
			other := b.MapIndex(it.Key())
			if !other.IsValid() || !elem.equals(it.Value(), other) {
				return false
			}
		}
		return true
	}
}
