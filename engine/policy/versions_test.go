package policy_test

import (
	"reflect"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
)

// TestVersionsHaveOneShape proves that older versions may be decoded as v1: they have the same fields of the same types.
func TestVersionsHaveOneShape(t *testing.T) {
	for _, older := range []any{admissionv1beta1.ValidatingAdmissionPolicy{}, admissionv1alpha1.ValidatingAdmissionPolicy{}} {
		sameShape(t, reflect.TypeFor[admissionv1.ValidatingAdmissionPolicy](), reflect.TypeOf(older))
	}
	for _, older := range []any{admissionv1beta1.ValidatingAdmissionPolicyBinding{}, admissionv1alpha1.ValidatingAdmissionPolicyBinding{}} {
		sameShape(t, reflect.TypeFor[admissionv1.ValidatingAdmissionPolicyBinding](), reflect.TypeOf(older))
	}
}

func sameShape(t *testing.T, v1, older reflect.Type) {
	t.Helper()
	switch {
	case v1 == older:
	case v1.Kind() != older.Kind():
		t.Errorf("%v is a %v, %v a %v", v1, v1.Kind(), older, older.Kind())
	case v1.Kind() == reflect.Pointer, v1.Kind() == reflect.Slice, v1.Kind() == reflect.Map:
		sameShape(t, v1.Elem(), older.Elem())
	case v1.Kind() == reflect.Struct:
		if v1.NumField() != older.NumField() {
			t.Errorf("%v has %d fields, %v %d", v1, v1.NumField(), older, older.NumField())
			return
		}
		for a := range v1.Fields() {
			b, ok := older.FieldByName(a.Name)
			if !ok || a.Tag.Get("json") != b.Tag.Get("json") {
				t.Errorf("%v.%s is not in %v, or called otherwise there", v1, a.Name, older)
				continue
			}
			sameShape(t, a.Type, b.Type)
		}
	}
}
