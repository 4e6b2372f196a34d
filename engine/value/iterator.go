package value

import (
	"errors"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

var errIterator = errors.New("an iterator has no value")

// noValue makes an iterator the CEL value that its interface wants, though no expression gets hold of one.
type noValue struct{}

func (noValue) ConvertToNative(reflect.Type) (any, error) { return nil, errIterator }

func (noValue) ConvertToType(ref.Type) ref.Val { return types.WrapErr(errIterator) }

func (noValue) Equal(ref.Val) ref.Val { return types.WrapErr(errIterator) }

func (noValue) Type() ref.Type { return types.IteratorType }

func (noValue) Value() any { return nil }

// keyIterator walks the keys of a map.
type keyIterator struct {
	noValue
	keys []string
}

func (it *keyIterator) HasNext() ref.Val { return types.Bool(len(it.keys) > 0) }

func (it *keyIterator) Next() ref.Val {
	if len(it.keys) == 0 {
		return types.NewErr("no more elements")
	}
	key := types.String(it.keys[0])
	it.keys = it.keys[1:]
	return key
}

// listIterator walks the elements of a list.
type listIterator struct {
	noValue
	list       traits.Indexer
	next, size int
}

func (it *listIterator) HasNext() ref.Val { return types.Bool(it.next < it.size) }

func (it *listIterator) Next() ref.Val {
	if it.next >= it.size {
		return types.NewErr("no more elements")
	}
	v := it.list.Get(types.Int(it.next))
	it.next++
	return v
}
