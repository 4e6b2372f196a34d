package value

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

var (
	_ traits.Mapper   = (*jsonMap)(nil)
	_ traits.Foldable = (*jsonMap)(nil)
	_ traits.Zeroer   = (*jsonMap)(nil)
)

// jsonMap is the view of a JSON object; cel-go's own is its model.
type jsonMap struct {
	content map[string]any
	doc     *document
}

func (m *jsonMap) Type() ref.Type { return types.MapType }

func (m *jsonMap) Value() any { return m.content }

func (m *jsonMap) Size() ref.Val { return types.Int(len(m.content)) }

func (m *jsonMap) IsZeroValue() bool { return len(m.content) == 0 }

// Find finds nothing under a key that is no string: it is no error to ask.
func (m *jsonMap) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v, ok := m.content[string(name)]
	if !ok {
		return nil, false
	}
	return m.doc.view(v), true
}

func (m *jsonMap) Get(key ref.Val) ref.Val {
	v, ok := m.Find(key)
	if !ok {
		return types.NewErr("no such key: %v", key)
	}
	return v
}

func (m *jsonMap) Contains(key ref.Val) ref.Val {
	name, ok := key.(types.String)
	if ok {
		_, ok = m.content[string(name)]
	}
	return types.Bool(ok)
}

func (m *jsonMap) Iterator() traits.Iterator {
	return &keyIterator{keys: m.doc.keys(m.content)}
}

// Fold hands out scalars as they are: they become CEL values only where an expression reads them.
func (m *jsonMap) Fold(f traits.Folder) {
	for _, k := range m.doc.keys(m.content) {
		if !f.FoldEntry(k, m.doc.entry(m.content[k])) {
			return
		}
	}
}

// entry is what a fold hands out for a JSON value.
func (d *document) entry(content any) any {
	switch content.(type) {
	case map[string]any, []any:
		return d.view(content)
	}
	return content
}

// Equal takes a comparison that is an error for an equal one, and another shape for a different value.
func (m *jsonMap) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*jsonMap); ok {
		return types.Bool(equalMaps(m.content, o.content))
	}
	o, ok := other.(traits.Mapper)
	if !ok || m.Size() != o.Size() {
		return types.False
	}
	for _, k := range m.doc.keys(m.content) {
		v, found := o.Find(types.String(k))
		if !found || types.Equal(m.doc.view(m.content[k]), v) == types.False {
			return types.False
		}
	}
	return types.True
}

func (m *jsonMap) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return m
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", types.MapType, t)
}

// ConvertToNative converts as cel-go does. No function of a policy's environment converts a map to Go, so that the
// order in which cel-go walks it does not show.
func (m *jsonMap) ConvertToNative(t reflect.Type) (any, error) {
	if converts(m, t) {
		return m, nil
	}
	return types.NewStringInterfaceMap(types.DefaultTypeAdapter, m.content).ConvertToNative(t)
}

// String is how an error shows the map.
func (m *jsonMap) String() string {
	var out strings.Builder
	out.WriteByte('{')
	for i, k := range m.doc.keys(m.content) {
		if i > 0 {
			out.WriteString(", ")
		}
		fmt.Fprintf(&out, "%s: %v", k, m.doc.view(m.content[k]))
	}
	out.WriteByte('}')
	return out.String()
}

// converts says whether a view is itself what a conversion asks for.
func converts(view ref.Val, t reflect.Type) bool {
	return t.Kind() == reflect.Interface && t.NumMethod() > 0 && reflect.TypeOf(view).AssignableTo(t)
}
