package value

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

var _ traits.Mapper = (*mapView)(nil)

// mapView is the view of a Go map.
type mapView struct {
	value reflect.Value
	elem  *shape
	// plain is the map itself, where it is of strings.
	plain map[string]string
	// shown are the values that were read, by key; nil where there is none.
	shown  map[string]ref.Val
	sorted []string
}

func newMapView(v reflect.Value, elem *shape) *mapView {
	m := &mapView{value: v, elem: elem}
	if v.Type() == reflect.TypeFor[map[string]string]() {
		m.plain = v.Interface().(map[string]string)
	}
	return m
}

func (m *mapView) Type() ref.Type { return types.MapType }

func (m *mapView) Value() any { return m.value.Interface() }

func (m *mapView) Size() ref.Val { return types.Int(m.value.Len()) }

// Find finds an error under a key that is no string.
func (m *mapView) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		return types.ValOrErr(key, "unsupported map key type: %T", key), false
	}
	name := string(k)
	if m.plain != nil {
		v, ok := m.plain[name]
		if !ok {
			return nil, false
		}
		return types.String(v), true
	}
	v, ok := m.shown[name]
	if !ok {
		v = m.read(name)
		if m.shown == nil {
			m.shown = map[string]ref.Val{}
		}
		m.shown[name] = v
	}
	return v, v != nil
}

// read shows the value under a key, or nil. Keys of other kinds than strings are not to be found.
func (m *mapView) read(name string) ref.Val {
	t := m.value.Type().Key()
	if t.Kind() != reflect.String {
		return nil
	}
	v := m.value.MapIndex(reflect.ValueOf(name).Convert(t))
	if !v.IsValid() {
		return nil
	}
	return m.elem.value(v)
}

func (m *mapView) Get(key ref.Val) ref.Val {
	v, ok := m.Find(key)
	switch {
	case ok:
		return v
	case types.IsError(v):
		return v
	}
	return types.ValOrErr(key, "no such key: %v", key)
}

func (m *mapView) Contains(key ref.Val) ref.Val {
	v, ok := m.Find(key)
	if types.IsError(v) {
		return v
	}
	return types.Bool(ok)
}

func (m *mapView) Iterator() traits.Iterator { return &keyIterator{keys: m.keys()} }

func (m *mapView) keys() []string {
	if m.sorted != nil || m.value.Len() == 0 {
		return m.sorted
	}
	m.sorted = make([]string, 0, m.value.Len())
	for it := m.value.MapRange(); it.Next(); {
		m.sorted = append(m.sorted, it.Key().String())
	}
	slices.Sort(m.sorted)
	return m.sorted
}

// Equal takes a comparison that is an error for a difference.
func (m *mapView) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*mapView); ok && m.plain != nil && o.plain != nil {
		return types.Bool(maps.Equal(m.plain, o.plain))
	}
	o, ok := other.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if m.Size() != o.Size() {
		return types.False
	}
	for _, k := range m.keys() {
		v, _ := m.Find(types.String(k))
		w, found := o.Find(types.String(k))
		if !found || v.Equal(w) != types.True {
			return types.False
		}
	}
	return types.True
}

func (m *mapView) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return m
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", types.MapType, t.TypeName())
}

func (m *mapView) ConvertToNative(t reflect.Type) (any, error) {
	if m.value.Type().AssignableTo(t) {
		return m.value.Interface(), nil
	}
	return nil, fmt.Errorf("type conversion error from '%s' to '%s'", types.MapType, t)
}

// String is how an error shows the map. The apiserver shows memory addresses.
func (m *mapView) String() string { return types.Format(m) }
