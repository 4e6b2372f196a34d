package value

import (
	"encoding/base64"
	"math"
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/util/intstr"
	smd "sigs.k8s.io/structured-merge-diff/v6/value"
)

// shape is what there is to know of a Go type: how to show its values, and how to compare them. It is made once a type,
// when the first value is met.
type shape struct {
	typ   reflect.Type
	once  sync.Once
	read  func(reflect.Value) ref.Val
	equal func(a, b reflect.Value) bool
}

var shapes sync.Map // of *shape by reflect.Type

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s, _ := shapes.LoadOrStore(t, &shape{typ: t})
	return s.(*shape)
}

// get returns the value that v holds, without a copy on the heap where it has an address.
func get[T any](v reflect.Value) T {
	if v.CanAddr() {
		return *v.Addr().Interface().(*T)
	}
	return v.Interface().(T)
}

// value shows v, which is of the shape's type.
func (s *shape) value(v reflect.Value) ref.Val {
	s.once.Do(s.build)
	return s.read(v)
}

// equals compares two values of the shape's type.
func (s *shape) equals(a, b reflect.Value) bool {
	s.once.Do(s.build)
	return s.equal(a, b)
}

func (s *shape) build() {
	s.read, s.equal = reader(s.typ), comparison(s.typ)
}

func reader(t reflect.Type) func(reflect.Value) ref.Val {
	switch t {
	case reflect.TypeFor[intstr.IntOrString]():
		return orElse(intOrString, byShape(t))
	case reflect.TypeFor[*intstr.IntOrString]():
		return orNull(orElse(validIntOrString, byShape(t)))
	}
	switch t.Kind() {
	case reflect.Interface:
		return orNull(func(v reflect.Value) ref.Val { return shapeOf(v.Elem().Type()).value(v.Elem()) })
	case reflect.Pointer, reflect.Map, reflect.Slice:
		return orNull(byShape(t))
	}
	return byShape(t)
}

func orNull(read func(reflect.Value) ref.Val) func(reflect.Value) ref.Val {
	return func(v reflect.Value) ref.Val {
		if v.IsNil() {
			return types.NullValue
		}
		return read(v)
	}
}

// byShape reads types that write their own JSON by that, and all others by their kind.
func byShape(t reflect.Type) func(reflect.Value) ref.Val {
	if entry := smd.TypeReflectEntryOf(t); entry.CanConvertToUnstructured() {
		return func(v reflect.Value) ref.Val { return ofConverted(entry, v) }
	}
	switch t.Kind() {
	case reflect.Pointer:
		elem := shapeOf(t.Elem())
		return func(v reflect.Value) ref.Val { return elem.value(v.Elem()) }
	case reflect.Struct:
		f := fieldsOf(t)
		return func(v reflect.Value) ref.Val { return &structView{value: v, fields: f} }
	case reflect.Map:
		elem := shapeOf(t.Elem())
		return func(v reflect.Value) ref.Val { return newMapView(v, elem) }
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return func(v reflect.Value) ref.Val {
				return types.String(base64.StdEncoding.EncodeToString(v.Bytes()))
			}
		}
		elem := shapeOf(t.Elem())
		return func(v reflect.Value) ref.Val { return &listView{value: v, elem: elem} }
	}
	return scalar(t)
}

func scalar(t reflect.Type) func(reflect.Value) ref.Val {
	switch t.Kind() {
	case reflect.Bool:
		return func(v reflect.Value) ref.Val { return types.Bool(v.Bool()) }
	case reflect.String:
		return func(v reflect.Value) ref.Val { return types.String(v.String()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(v reflect.Value) ref.Val { return types.Int(v.Int()) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(v reflect.Value) ref.Val { return ofUnsigned(v.Uint()) }
	case reflect.Float32, reflect.Float64:
		return func(v reflect.Value) ref.Val { return types.Double(v.Float()) }
	}
	return func(reflect.Value) ref.Val { return types.NewErr("unsupported Go type for CEL: %v", t) }
}

// ofUnsigned shows an unsigned integer as JSON does, as an int.
func ofUnsigned(u uint64) ref.Val {
	if u > math.MaxInt64 {
		return types.NewErr("unsigned value %d does not fit into int64 (overflow)", u)
	}
	return types.Int(u)
}

// ofConverted shows a value by the JSON that its type writes.
func ofConverted(entry *smd.TypeReflectCacheEntry, v reflect.Value) ref.Val {
	if !v.CanAddr() { // A marshaler may be one by its pointer only.
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		v = p.Elem()
	}
	content, err := entry.ToUnstructured(v)
	if err != nil {
		return types.NewErr("failed to convert to unstructured: %v", err)
	}
	return ofContent(content)
}

// orElse reads by the first way, and by the second what the first returns nil for.
func orElse(first, second func(reflect.Value) ref.Val) func(reflect.Value) ref.Val {
	return func(v reflect.Value) ref.Val {
		if out := first(v); out != nil {
			return out
		}
		return second(v)
	}
}

func intOrString(v reflect.Value) ref.Val {
	switch x := get[intstr.IntOrString](v); x.Type {
	case intstr.Int:
		return types.Int(x.IntVal)
	case intstr.String:
		return types.String(x.StrVal)
	}
	return nil
}

// validIntOrString saves the way through JSON, which the apiserver goes for pointers, where it changes nothing.
func validIntOrString(v reflect.Value) ref.Val {
	x := v.Interface().(*intstr.IntOrString)
	switch {
	case x.Type == intstr.Int:
		return types.Int(x.IntVal)
	case x.Type == intstr.String && utf8.ValidString(x.StrVal):
		return types.String(x.StrVal)
	}
	return nil
}
