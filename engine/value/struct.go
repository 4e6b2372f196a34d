package value

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	smd "sigs.k8s.io/structured-merge-diff/v6/value"
)

var (
	_ traits.Mapper      = (*structView)(nil)
	_ traits.FieldTester = (*structView)(nil)
)

// structFields are the fields of a Go struct as its JSON has them, sorted by name.
type structFields struct {
	sorted []structField
	byName map[string]int
}

type structField struct {
	*smd.FieldCacheEntry
	shape *shape
}

func fieldsOf(t reflect.Type) *structFields {
	zero := reflect.Zero(t)
	f := &structFields{byName: map[string]int{}}
	for i, entry := range smd.TypeReflectEntryOf(t).OrderedFields() {
		f.byName[entry.JsonName] = i
		f.sorted = append(f.sorted, structField{entry, shapeOf(entry.GetFrom(zero).Type())})
	}
	return f
}

// structView is the view of a Go struct as the map that its JSON would be.
type structView struct {
	value  reflect.Value
	fields *structFields
	// shown are the fields that were read, by their number.
	shown []ref.Val
	// present are the names of the fields that the JSON would have, once they were asked for.
	present []string
	counted bool
}

// omitted stands for a field that was read and that the JSON would leave out.
var omitted = types.NewErr("omitted")

func (s *structView) Type() ref.Type { return types.MapType }

func (s *structView) Value() any { return s.value.Interface() }

func (s *structView) Size() ref.Val { return types.Int(len(s.names())) }

func (s *structView) names() []string {
	if s.counted {
		return s.present
	}
	s.counted = true
	for i := range s.fields.sorted {
		if f := &s.fields.sorted[i]; !f.CanOmit(f.GetFrom(s.value)) {
			s.present = append(s.present, f.JsonName)
		}
	}
	return s.present
}

// Find finds an error under a key that is no string.
func (s *structView) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return types.ValOrErr(key, "unsupported map key type: %T", key), true
	}
	i, ok := s.fields.byName[string(name)]
	if !ok {
		return nil, false
	}
	if s.shown == nil {
		s.shown = make([]ref.Val, len(s.fields.sorted))
	}
	v := s.shown[i]
	if v == nil {
		v = s.read(i)
		s.shown[i] = v
	}
	if v == omitted {
		return nil, false
	}
	return v, true
}

func (s *structView) read(i int) ref.Val {
	f := &s.fields.sorted[i]
	v := f.GetFrom(s.value)
	if f.CanOmit(v) {
		return omitted
	}
	return f.shape.value(v)
}

func (s *structView) Get(key ref.Val) ref.Val {
	v, ok := s.Find(key)
	if !ok {
		return types.NewErr("no such key: %v", key)
	}
	return v
}

func (s *structView) Contains(key ref.Val) ref.Val {
	v, ok := s.Find(key)
	if types.IsError(v) {
		return v
	}
	return types.Bool(ok)
}

func (s *structView) IsSet(field ref.Val) ref.Val {
	v, ok := s.Find(field)
	if types.IsUnknownOrError(v) {
		return v
	}
	return types.Bool(ok)
}

func (s *structView) Iterator() traits.Iterator { return &keyIterator{keys: s.names()} }

// Equal compares two structs as the apiserver's Go code does (equality.Semantic), and a struct with another map field
// by field. A field that cannot be compared is the result, where no field before it differs; the apiserver takes the
// fields in an order that changes from run to run.
func (s *structView) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*structView); ok {
		equal := equalValues(s.value, o.value)
		if equal && roundedTimes(s.value, o.value) {
			panic(Unknowable{Trail: RoundedTimes})
		}
		return types.Bool(equal)
	}
	o, ok := other.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if s.Size() != o.Size() {
		return types.False
	}
	for _, name := range s.names() {
		v, _ := s.Find(types.String(name))
		w, found := o.Find(types.String(name))
		if !found {
			return types.False
		}
		if eq := v.Equal(w); eq != types.True {
			return eq
		}
	}
	return types.True
}

func (s *structView) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return s
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("type conversion error from struct to %s", t.TypeName())
}

func (s *structView) ConvertToNative(t reflect.Type) (any, error) {
	if s.value.Type().AssignableTo(t) {
		return s.value.Interface(), nil
	}
	return nil, fmt.Errorf("type conversion error from struct type %v to %v", s.value.Type(), t)
}

// String is how an error shows the struct. The apiserver shows memory addresses.
func (s *structView) String() string { return types.Format(s) }
