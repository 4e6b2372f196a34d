package engine

import (
	"reflect"
	"sync"

	smd "sigs.k8s.io/structured-merge-diff/v6/value"
)

// step is one field on the way to a place in a JSON object.
type step struct {
	field string
	// whole: what is at the field is digested as a whole, however far the place is.
	whole bool
	// empty: a map that is empty is left out, so that it makes a difference whether it is.
	empty bool
	// zero: a struct that is zero is left out. It is not where one of these fields is not.
	zero []string
}

// wayKey names the way to a place in objects of a Go type; nil for objects that are shown as their JSON is.
type wayKey struct {
	in    reflect.Type
	place int32
}

// ways are the steps to places, made when they are first gone.
type ways struct{ known sync.Map } // of []step by wayKey

func (w *ways) to(n int32, p *place, in reflect.Type) []step {
	key := wayKey{in, n}
	if known, ok := w.known.Load(key); ok {
		return known.([]step)
	}
	steps := stepsTo(p.fields, in)
	w.known.Store(key, steps)
	return steps
}

// stepsTo follows a path through a Go type, for what CEL is shown of a struct is not quite its JSON: fields are left out
// where they are empty or zero.
func stepsTo(fields []string, in reflect.Type) []step {
	steps := make([]step, len(fields))
	for i, field := range fields {
		steps[i].field = field
		if in == nil {
			continue
		}
		for in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if in = steps[i].into(in); in == nil {
			steps[i].whole = true
			return steps[:i+1]
		}
	}
	return steps
}

// into is the type of what is at the step's field of a type; nil where it is not followed.
func (s *step) into(in reflect.Type) reflect.Type {
	entry := smd.TypeReflectEntryOf(in)
	switch {
	case entry.CanConvertToUnstructured() || entry.CanConvertFromUnstructured():
		return nil
	case in.Kind() == reflect.Map:
		return in.Elem()
	case in.Kind() != reflect.Struct:
		return nil
	}
	field, ok := entry.Fields()[s.field]
	if !ok {
		return nil
	}
	zero := field.GetFrom(reflect.New(in).Elem())
	s.empty = zero.Kind() == reflect.Map
	if zero.Kind() == reflect.Struct && field.CanOmit(zero) {
		if s.zero = namingFields(zero.Type()); s.zero == nil {
			return nil
		}
	}
	return zero.Type()
}

// namingFields are fields of a struct that are strings. With one of those it is not zero.
func namingFields(t reflect.Type) []string {
	if _, own := t.MethodByName("IsZero"); own {
		return nil
	}
	if _, own := reflect.PointerTo(t).MethodByName("IsZero"); own {
		return nil
	}
	var names []string
	for name, field := range smd.TypeReflectEntryOf(t).Fields() {
		if field.GetFrom(reflect.New(t).Elem()).Kind() == reflect.String && name != "selfLink" { // Which is not shown of a Namespace.
			names = append(names, name)
		}
	}
	return names
}

// digestAt is the digest of what reading a path from a JSON value comes to: the value there, or how far the path leads
// and what is there.
func digestAt(content any, steps []step) digest {
	var way uint64
	for i := range steps {
		s := &steps[i]
		m, ok := content.(map[string]any)
		if !ok {
			return digestNumber(tagStopped, uint64(i)).and(digestOf(content))
		}
		if content, ok = m[s.field]; !ok {
			return digestNumber(tagAbsent, uint64(i)<<32|way)
		}
		if i == len(steps)-1 || s.whole {
			break
		}
		inner, _ := content.(map[string]any)
		switch {
		case s.empty && len(inner) == 0:
			way |= 1 << (i % 32)
		case s.zero != nil && !namedIn(inner, s.zero):
			return digestNumber(tagStopped, uint64(i)<<32|way).and(digestOf(content))
		}
	}
	return digestNumber(tagMap, way).and(digestOf(content))
}

func namedIn(m map[string]any, fields []string) bool {
	for _, field := range fields {
		if s, _ := m[field].(string); s != "" {
			return true
		}
	}
	return false
}
