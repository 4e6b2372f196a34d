package config_test

import (
	"reflect"
	"testing"

	"github.com/vapshadow/vapshadow/internal/config"
)

// fieldsOf are the names of all fields of the configuration.
func fieldsOf(t *testing.T) (names []string) {
	t.Helper()
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(of.Elem())
		case reflect.Struct:
			for field := range of.Fields() {
				if name := field.Tag.Get("yaml"); name != "" {
					names = append(names, name)
				}
				walk(field.Type)
			}
		}
	}
	walk(reflect.TypeFor[config.Config]())
	if len(names) < 40 {
		t.Fatalf("only %d fields", len(names))
	}
	return names
}
