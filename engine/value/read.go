package value

import (
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	smd "sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/vapshadow/vapshadow/internal/jsonobject"
)

// Read reads a JSON object that fits it (see Fits) into a new Go struct of an API type, to which it returns a pointer. What
// was read before, of parts of objects that come again, is in it as it is: nobody may change it.
func Read(content map[string]any, t reflect.Type) (any, error) {
	out := read(content, t)
	return out.object.Interface(), out.err
}

// readOut is a pointer to a struct that was read.
type readOut struct {
	object reflect.Value
	err    error
}

// readQuestion asks for the struct of an object that may come again.
type readQuestion struct{ in reflect.Type }

func read(content map[string]any, t reflect.Type) readOut {
	rest, parts := content, map[*smd.FieldCacheEntry]reflect.Value{}
	for name, value := range content {
		field, ok := smd.TypeReflectEntryOf(t).Fields()[name]
		if !ok {
			continue
		}
		part, err := readPart(value, field.GetFrom(reflect.Zero(t)).Type())
		switch {
		case err != nil:
			return readOut{reflect.New(t), err}
		case !part.IsValid():
			continue
		case len(parts) == 0:
			rest = maps.Clone(content)
		}
		delete(rest, name)
		parts[field] = part
	}
	out := reflect.New(t)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rest, out.Interface()); err != nil {
		return readOut{out, err}
	}
	for field, part := range parts {
		field.GetFrom(out.Elem()).Set(part)
	}
	return readOut{object: out}
}

// readPart is the value of a field that holds parts that come again: a struct, a pointer to one, or a list of structs. It is
// no value at all where the field is better read with the rest.
func readPart(content any, t reflect.Type) (out reflect.Value, err error) {
	switch content := content.(type) {
	case map[string]any:
		of := t
		if t.Kind() == reflect.Pointer {
			of = t.Elem()
		}
		if !readable(of) || !jsonobject.Again(content) {
			return out, nil
		}
		object, err := readOnce(content, of)
		if t != of || err != nil {
			return object, err
		}
		return object.Elem(), nil
	case []any:
		if t.Kind() != reflect.Slice || !readable(t.Elem()) || !anyAgain(content) {
			return out, nil
		}
		out = reflect.MakeSlice(t, len(content), len(content))
		for i, element := range content {
			m, _ := element.(map[string]any) // Null leaves a struct at zero.
			object, err := readOnce(m, t.Elem())
			if err != nil {
				return out, err
			}
			out.Index(i).Set(object.Elem())
		}
		return out, nil
	}
	return out, nil
}

func readOnce(content map[string]any, t reflect.Type) (reflect.Value, error) {
	out := jsonobject.Once(content, readQuestion{t}, func() readOut { return read(content, t) })
	return out.object, out.err
}

// readable says whether a type is a struct that is read field by field.
func readable(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !smd.TypeReflectEntryOf(t).CanConvertFromUnstructured()
}

func anyAgain(list []any) bool {
	for _, element := range list {
		if m, ok := element.(map[string]any); ok && jsonobject.Again(m) {
			return true
		}
	}
	return false
}
