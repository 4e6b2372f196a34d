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
	_ traits.Lister   = (*jsonList)(nil)
	_ traits.Foldable = (*jsonList)(nil)
	_ traits.Zeroer   = (*jsonList)(nil)
)

// jsonList is the view of a JSON array; cel-go's own is its model.
type jsonList struct {
	content []any
	doc     *document
}

func (l *jsonList) Type() ref.Type { return types.ListType }

func (l *jsonList) Value() any { return l.content }

func (l *jsonList) Size() ref.Val { return types.Int(len(l.content)) }

func (l *jsonList) IsZeroValue() bool { return len(l.content) == 0 }

func (l *jsonList) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.ValOrErr(index, "%v", err)
	}
	if i < 0 || i >= len(l.content) {
		return types.NewErr("index '%d' out of range in list size '%d'", i, len(l.content))
	}
	return l.doc.view(l.content[i])
}

func (l *jsonList) Contains(elem ref.Val) ref.Val {
	for _, v := range l.content {
		if elem.Equal(l.doc.view(v)) == types.True {
			return types.True
		}
	}
	return types.False
}

// Equal takes a comparison that is an error for an equal one, and another shape for a different value.
func (l *jsonList) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*jsonList); ok {
		return types.Bool(equalContent(l.content, o.content))
	}
	o, ok := other.(traits.Lister)
	if !ok || l.Size() != o.Size() {
		return types.False
	}
	for i, v := range l.content {
		if types.Equal(l.doc.view(v), o.Get(types.Int(i))) == types.False {
			return types.False
		}
	}
	return types.True
}

// Add leaves the concatenation to cel-go, whose lists it is one of from then on.
func (l *jsonList) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if len(l.content) > 0 && o.Size() == types.IntZero {
		return l
	}
	elems := make([]ref.Val, len(l.content))
	for i, v := range l.content {
		elems[i] = l.doc.view(v)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, elems).Add(other)
}

func (l *jsonList) Iterator() traits.Iterator {
	return &listIterator{list: l, size: len(l.content)}
}

// Fold hands out scalars as they are: they become CEL values only where an expression reads them.
func (l *jsonList) Fold(f traits.Folder) {
	for i, v := range l.content {
		if !f.FoldEntry(i, l.doc.entry(v)) {
			return
		}
	}
}

func (l *jsonList) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.ListType:
		return l
	case types.TypeType:
		return types.ListType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", types.ListType, t)
}

// ConvertToNative converts as cel-go does.
func (l *jsonList) ConvertToNative(t reflect.Type) (any, error) {
	if converts(l, t) {
		return l, nil
	}
	return types.NewDynamicList(types.DefaultTypeAdapter, l.content).ConvertToNative(t)
}

// String is how an error shows the list: its elements as Go prints them.
func (l *jsonList) String() string {
	var out strings.Builder
	out.WriteByte('[')
	for i, v := range l.content {
		if i > 0 {
			out.WriteString(", ")
		}
		fmt.Fprintf(&out, "%v", v)
	}
	out.WriteByte(']')
	return out.String()
}
