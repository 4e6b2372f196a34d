package value

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

var _ traits.Lister = (*listView)(nil)

// listView is the view of a Go slice.
type listView struct {
	value reflect.Value
	elem  *shape
	// shown are the elements that were read.
	shown []ref.Val
}

func (l *listView) Type() ref.Type { return types.ListType }

func (l *listView) Value() any { return l.value.Interface() }

func (l *listView) Size() ref.Val { return types.Int(l.value.Len()) }

func (l *listView) Get(index ref.Val) ref.Val {
	i, ok := index.(types.Int)
	if !ok {
		return types.ValOrErr(index, "unsupported index type: %T", index)
	}
	if i < 0 || int(i) >= l.value.Len() {
		return types.NewErr("index out of bounds: %d", i)
	}
	return l.at(int(i))
}

func (l *listView) at(i int) ref.Val {
	if l.shown == nil {
		l.shown = make([]ref.Val, l.value.Len())
	}
	if l.shown[i] == nil {
		l.shown[i] = l.elem.value(l.value.Index(i))
	}
	return l.shown[i]
}

func (l *listView) Contains(v ref.Val) ref.Val {
	for i := range l.value.Len() {
		if l.at(i).Equal(v) == types.True {
			return types.True
		}
	}
	return types.False
}

// Equal takes a comparison that is an error for a difference.
func (l *listView) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if l.Size() != o.Size() {
		return types.False
	}
	for i := range l.value.Len() {
		if l.at(i).Equal(o.Get(types.Int(i))) != types.True {
			return types.False
		}
	}
	return types.True
}

// Add makes a list of cel-go's, which behaves otherwise: it is no error to compare it with what is no list.
func (l *listView) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	size, _ := o.Size().(types.Int)
	elems := make([]ref.Val, 0, l.value.Len()+int(size))
	for i := range l.value.Len() {
		elems = append(elems, l.at(i))
	}
	for it := o.Iterator(); it.HasNext() == types.True; {
		elems = append(elems, it.Next())
	}
	return types.NewRefValList(types.DefaultTypeAdapter, elems)
}

func (l *listView) Iterator() traits.Iterator {
	return &listIterator{list: l, size: l.value.Len()}
}

func (l *listView) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.ListType:
		return l
	case types.TypeType:
		return types.ListType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", types.ListType, t.TypeName())
}

// ConvertToNative gives the slice to whoever asks for any, whatever its elements are.
func (l *listView) ConvertToNative(t reflect.Type) (any, error) {
	if t.Kind() == reflect.Slice {
		return l.value.Interface(), nil
	}
	return nil, fmt.Errorf("type conversion error from '%s' to '%s'", types.ListType, t)
}

// String is how an error shows the list. The apiserver shows memory addresses.
func (l *listView) String() string { return types.Format(l) }
