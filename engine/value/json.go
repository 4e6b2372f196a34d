package value

import (
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// document is what the views of one JSON object share.
type document struct {
	// root keeps the maps alive whose addresses order holds.
	root map[string]any
	// order holds the sorted keys of the maps that were walked, by the maps' addresses.
	order map[uintptr][]string
}

// keys are the keys of one of the document's maps, sorted. They must not be written to.
func (d *document) keys(m map[string]any) []string {
	if len(m) == 0 {
		return nil
	}
	at := reflect.ValueOf(m).Pointer()
	if keys, ok := d.order[at]; ok {
		return keys
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if d.order == nil {
		d.order = map[uintptr][]string{}
	}
	d.order[at] = keys
	return keys
}

// view shows one JSON value. Each call makes a new view of a map or list, as in the apiserver, where two readings of
// one field are equal but not the same key of a map.
func (d *document) view(content any) ref.Val {
	switch v := content.(type) {
	case map[string]any:
		return &jsonMap{content: v, doc: d}
	case []any:
		return &jsonList{content: v, doc: d}
	default:
		return types.DefaultTypeAdapter.NativeToValue(v)
	}
}

// ofContent shows any JSON value.
func ofContent(content any) ref.Val {
	root, _ := content.(map[string]any)
	return (&document{root: root}).view(content)
}

// equalContent says whether CEL takes two JSON values for equal. To CEL, 1 equals 1.0.
func equalContent(a, b any) bool {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return x == y
		}
	case int64:
		if y, ok := b.(int64); ok {
			return x == y
		}
	case bool:
		if y, ok := b.(bool); ok {
			return x == y
		}
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return equalMaps(x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return slices.EqualFunc(x, y, equalContent)
		}
	}
	return types.Equal(ofContent(a), ofContent(b)) != types.False
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, x := range a {
		y, ok := b[k]
		if !ok || !equalContent(x, y) {
			return false
		}
	}
	return true
}
