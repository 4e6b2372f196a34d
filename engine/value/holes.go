package value

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// WithHoles returns a view of an object of which some fields are not known: reading one gives an unknown value, and so
// does what hangs on whether it is there. Each hole is a path of field names that begins with the variable's name; "*"
// stands for each element of a list. What cannot be told without the field at all (the size of the map that it is in,
// the object as text) panics with Unknowable: cel-go reports such a panic as an internal error.
func WithHoles(view ref.Val, holes [][]string) ref.Val {
	root := &hole{}
	for _, path := range holes {
		root.add(path[1:])
	}
	return root.over(view, holes[0][:1])
}

// Unknowable is what a view panics with where an answer hangs on what is not known. cel-go turns the panic into an
// error that only its text tells apart: see UnknowableTrail.
type Unknowable struct{ Trail string }

const unknowableText = "not known: "

func (u Unknowable) String() string { return unknowableText + u.Trail }

// UnknowableTrail returns the trail of an Unknowable that an evaluation ended with.
func UnknowableTrail(err error) (trail string, ok bool) {
	if err == nil {
		return "", false
	}
	return strings.CutPrefix(err.Error(), "internal error: "+unknowableText)
}

// hole is a tree of the fields that are not known.
type hole struct {
	unknown bool
	fields  map[string]*hole
}

func (h *hole) add(path []string) {
	if len(path) == 0 {
		h.unknown = true
		return
	}
	if h.fields == nil {
		h.fields = map[string]*hole{}
	}
	next := h.fields[path[0]]
	if next == nil {
		next = &hole{}
		h.fields[path[0]] = next
	}
	next.add(path[1:])
}

// over puts the holes over a value.
func (h *hole) over(v ref.Val, trail []string) ref.Val {
	switch {
	case h.unknown:
		return unknownAt(trail)
	case len(h.fields) == 0:
		return v
	}
	switch inner := v.(type) {
	case traits.Mapper:
		return &holedMap{Mapper: inner, hole: h, trail: trail}
	case traits.Lister:
		return &holedList{Lister: inner, hole: h, trail: trail}
	}
	return v
}

// open says whether a field of the map itself is not known.
func (h *hole) open() bool {
	for _, field := range h.fields {
		if field.unknown {
			return true
		}
	}
	return false
}

func unknownAt(trail []string) *types.Unknown {
	attribute := types.NewAttributeTrail(trail[0])
	for _, field := range trail[1:] {
		types.QualifyAttribute(attribute, field)
	}
	return types.NewUnknown(0, attribute)
}

func unknowable(trail []string) any {
	return Unknowable{Trail: unknownAt(trail).String()}
}

// holedMap is a map with holes in it or below it.
type holedMap struct {
	traits.Mapper
	hole  *hole
	trail []string
}

func (m *holedMap) Find(key ref.Val) (ref.Val, bool) {
	if u, ok := key.(*types.Unknown); ok {
		return u, true
	}
	name, ok := key.(types.String)
	field := m.hole.fields[string(name)]
	if !ok || field == nil {
		return m.Mapper.Find(key)
	}
	trail := append(slices.Clone(m.trail), string(name))
	if field.unknown {
		return unknownAt(trail), true
	}
	v, found := m.Mapper.Find(key)
	if !found {
		return v, false
	}
	return field.over(v, trail), true
}

func (m *holedMap) Get(key ref.Val) ref.Val {
	if v, found := m.Find(key); found {
		return v
	}
	return m.Mapper.Get(key)
}

func (m *holedMap) Contains(key ref.Val) ref.Val {
	v, found := m.Find(key)
	if u, ok := v.(*types.Unknown); ok {
		return u
	}
	if !found {
		return m.Mapper.Contains(key)
	}
	return types.True
}

func (m *holedMap) Size() ref.Val {
	if m.hole.open() {
		panic(unknowable(m.trail))
	}
	return m.Mapper.Size()
}

func (m *holedMap) IsZeroValue() bool {
	if m.Mapper.Size() != types.IntZero {
		return false
	}
	panic(unknowable(m.trail))
}

// Iterator walks the keys that are known to be there, and an unknown one for those that may be.
func (m *holedMap) Iterator() traits.Iterator {
	keys := []ref.Val{}
	if m.hole.open() {
		keys = append(keys, unknownAt(m.trail))
	}
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		if name, ok := key.(types.String); ok && m.hole.fields[string(name)] != nil && m.hole.fields[string(name)].unknown {
			continue
		}
		keys = append(keys, key)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

func (m *holedMap) Equal(ref.Val) ref.Val { return unknownAt(m.trail) }

func (m *holedMap) Value() any { panic(unknowable(m.trail)) }

func (m *holedMap) ConvertToNative(reflect.Type) (any, error) { panic(unknowable(m.trail)) }

func (m *holedMap) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return m
	case types.TypeType:
		return m.Mapper.ConvertToType(t)
	}
	panic(unknowable(m.trail))
}

// holedList is a list whose elements have holes.
type holedList struct {
	traits.Lister
	hole  *hole
	trail []string
}

func (l *holedList) element(v ref.Val) ref.Val {
	each := l.hole.fields["*"]
	if each == nil {
		return v
	}
	return each.over(v, append(slices.Clone(l.trail), "*"))
}

func (l *holedList) Get(index ref.Val) ref.Val {
	if u, ok := index.(*types.Unknown); ok {
		return u
	}
	return l.element(l.Lister.Get(index))
}

func (l *holedList) elements() []ref.Val {
	var out []ref.Val
	for it := l.Lister.Iterator(); it.HasNext() == types.True; {
		out = append(out, l.element(it.Next()))
	}
	return out
}

func (l *holedList) plain() traits.Lister {
	return types.NewRefValList(types.DefaultTypeAdapter, l.elements())
}

func (l *holedList) Iterator() traits.Iterator { return l.plain().Iterator() }

func (l *holedList) Add(other ref.Val) ref.Val { return l.plain().Add(other) }

func (l *holedList) Contains(elem ref.Val) ref.Val {
	if l.Lister.Size() == types.IntZero {
		return types.False
	}
	return unknownAt(l.trail)
}

func (l *holedList) Equal(other ref.Val) ref.Val {
	if list, ok := other.(traits.Lister); ok && list.Size() != l.Lister.Size() {
		return types.False
	}
	return unknownAt(l.trail)
}

func (l *holedList) Value() any { panic(unknowable(l.trail)) }

func (l *holedList) ConvertToNative(reflect.Type) (any, error) { panic(unknowable(l.trail)) }

func (l *holedList) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.ListType:
		return l
	case types.TypeType:
		return l.Lister.ConvertToType(t)
	}
	panic(unknowable(l.trail))
}
