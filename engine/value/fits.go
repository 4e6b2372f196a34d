package value

import (
	"encoding/base64"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	smd "sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/vapshadow/vapshadow/internal/jsonobject"
)

// Fits says whether a JSON object can be read into a Go struct of an API type without an error. No means that it may
// not: trying tells. It costs a small part of what reading does, and keeps nothing.
func Fits(content map[string]any, t reflect.Type) bool { return fitOf(t).is(content) }

// fit says of a Go type which JSON values it takes. It is made once a type, when the first value is met.
type fit struct {
	typ   reflect.Type
	once  sync.Once
	takes func(any) bool
}

var fits sync.Map // of *fit by reflect.Type

func fitOf(t reflect.Type) *fit {
	if f, ok := fits.Load(t); ok {
		return f.(*fit)
	}
	f, _ := fits.LoadOrStore(t, &fit{typ: t})
	return f.(*fit)
}

// is says whether the type takes a value. Null leaves any type at its zero value.
func (f *fit) is(content any) bool {
	if content == nil {
		return true
	}
	f.once.Do(func() { f.takes = taking(f.typ) })
	return f.takes(content)
}

func taking(t reflect.Type) func(any) bool {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return func(v any) bool { return isTime(v, time.RFC3339) }
	case reflect.TypeFor[metav1.MicroTime]():
		return func(v any) bool { return isTime(v, metav1.RFC3339Micro) }
	case reflect.TypeFor[resource.Quantity]():
		return isQuantity
	case reflect.TypeFor[intstr.IntOrString]():
		return isIntOrString
	case reflect.TypeFor[metav1.FieldsV1]():
		return func(v any) bool { _, ok := v.(map[string]any); return ok }
	}
	if smd.TypeReflectEntryOf(t).CanConvertFromUnstructured() {
		return never // Types that read their own JSON, but for those above, are rare.
	}
	switch t.Kind() {
	case reflect.Struct:
		return takingStruct(t)
	case reflect.Pointer:
		return fitOf(t.Elem()).is
	case reflect.Slice:
		return takingSlice(t)
	case reflect.Map:
		return takingMap(t)
	}
	return takingScalar(t)
}

func never(any) bool { return false }

func takingStruct(t reflect.Type) func(any) bool {
	fields := map[string]*fit{}
	if !addFields(t, fields) {
		return never
	}
	takes := func(m map[string]any) bool {
		for name, value := range m {
			if f := fields[name]; f != nil && !f.is(value) {
				return false
			}
		}
		return true
	}
	return func(v any) bool {
		m, ok := v.(map[string]any)
		return ok && jsonobject.Once(m, fitsQuestion{t}, func() bool { return takes(m) })
	}
}

// fitsQuestion asks whether an object that may come again fits a struct.
type fitsQuestion struct{ in reflect.Type }

// addFields adds the fields of a struct by their names in JSON. It is false where the struct is not one whose every
// field has a name of its own.
func addFields(t reflect.Type, fields map[string]*fit) bool {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported() || name == "-":
			return false
		case name == "" && field.Anonymous && field.Type.Kind() == reflect.Struct, options == "inline" && field.Type.Kind() == reflect.Struct:
			if smd.TypeReflectEntryOf(field.Type).CanConvertFromUnstructured() || !addFields(field.Type, fields) {
				return false
			}
		case name == "" || fields[name] != nil:
			return false
		default:
			fields[name] = fitOf(field.Type)
		}
	}
	return true
}

func takingSlice(t reflect.Type) func(any) bool {
	elem := fitOf(t.Elem())
	bytes := t.Elem().Kind() == reflect.Uint8
	return func(v any) bool {
		switch v := v.(type) {
		case string:
			_, err := base64.StdEncoding.DecodeString(v)
			return bytes && err == nil
		case []any:
			for _, e := range v {
				if !elem.is(e) {
					return false
				}
			}
			return true
		}
		return false
	}
}

func takingMap(t reflect.Type) func(any) bool {
	if t.Key().Kind() != reflect.String {
		return never
	}
	elem := fitOf(t.Elem())
	return func(v any) bool {
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		for _, e := range m {
			if !elem.is(e) {
				return false
			}
		}
		return true
	}
}

func takingScalar(t reflect.Type) func(any) bool {
	switch t.Kind() {
	case reflect.String:
		return func(v any) bool { _, ok := v.(string); return ok }
	case reflect.Bool:
		return func(v any) bool { _, ok := v.(bool); return ok }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(v any) bool { _, ok := v.(int64); return ok }
	}
	return never
}

func isTime(v any, layout string) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	_, err := time.Parse(layout, s)
	return err == nil
}

// isQuantity knows the usual quantities: those that are written in letters, digits and dots alone.
func isQuantity(v any) bool {
	s, ok := v.(string)
	if !ok {
		_, ok = v.(int64)
		return ok
	}
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.'
	}
	if s == "" || strings.TrimFunc(s, plain) != "" {
		return false
	}
	_, err := resource.ParseQuantity(s)
	return err == nil
}

func isIntOrString(v any) bool {
	switch v := v.(type) {
	case string:
		return true
	case int64:
		return v >= math.MinInt32 && v <= math.MaxInt32
	}
	return false
}
