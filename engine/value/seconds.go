package value

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// roundedTimes says whether two equal structs hold times of managedFields. An apiserver compares those to the
// nanosecond, while JSON, and so a log, keeps whole seconds: that they are equal there is not known.
func roundedTimes(a, b reflect.Value) bool {
	if a.CanAddr() && b.CanAddr() && a.Addr().Pointer() == b.Addr().Pointer() {
		return false
	}
	for _, entry := range managedFieldsOf(a) {
		if entry.Time != nil {
			return true
		}
	}
	return false
}

func managedFieldsOf(v reflect.Value) []metav1.ManagedFieldsEntry {
	switch v.Type() {
	case reflect.TypeFor[metav1.ManagedFieldsEntry]():
		return []metav1.ManagedFieldsEntry{get[metav1.ManagedFieldsEntry](v)}
	case reflect.TypeFor[metav1.ObjectMeta]():
		return get[metav1.ObjectMeta](v).ManagedFields
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	if meta := v.FieldByName("ObjectMeta"); meta.IsValid() && meta.Type() == reflect.TypeFor[metav1.ObjectMeta]() {
		return get[metav1.ObjectMeta](meta).ManagedFields
	}
	return nil
}

// RoundedTimes is the trail of the Unknowable that a comparison panics with which hangs on such times.
const RoundedTimes = "metadata.managedFields.time"
