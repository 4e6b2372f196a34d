// Package value shows Kubernetes objects to CEL.
//
// To an expression its views are those of the apiserver: the same fields are there and absent, the same comparisons
// are errors, every call costs the same. They differ in two ways that an expression cannot tell. A map is walked in the
// order of its keys, where the apiserver walks Go maps in an order that changes from run to run, so that an
// expression that prints or cuts a map gives one result. And a read copies nothing that it does not have to.
//
// A view caches what it has shown: it is for one goroutine at a time. What it shows must not change.
package value

import (
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// OfJSON is the view of a JSON object as Kubernetes decodes it (map[string]any, []any, string, int64, float64, bool,
// nil). So CEL sees custom resources and params, and, up to Kubernetes 1.36, all objects.
func OfJSON(content map[string]any) ref.Val {
	return &jsonMap{content: content, doc: &document{root: content}}
}

// OfStruct is the view of a Go value of an API type, mostly a pointer to a struct. So CEL sees the built-in kinds, the
// admission request and the namespace from Kubernetes 1.37 on: by the names of their JSON fields, without those that
// their JSON would leave out. A pointer must not lead back to itself.
func OfStruct(object any) ref.Val {
	if object == nil {
		return types.NullValue
	}
	v := reflect.ValueOf(object)
	return shapeOf(v.Type()).value(v)
}

// Message gives the text of an error the Go types that it would name in the apiserver: where an expression takes a map
// for a list or a key, some errors of cel-go's, and its panics, print the Go type of the view.
func Message(text string) string { return upstream.Replace(text) }

var upstream = strings.NewReplacer(
	typeName[jsonMap](), "*types.baseMap",
	typeName[jsonList](), "*types.baseList",
	typeName[structView](), "*common.reflectSchemalessTypedStruct",
	typeName[mapView](), "*common.reflectSchemalessTypedMap",
	typeName[listView](), "*common.reflectSchemalessTypedList",
)

func typeName[T any]() string { return reflect.TypeFor[*T]().String() }
