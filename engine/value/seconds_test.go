package value_test

import (
	"testing"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vapshadow/vapshadow/engine/value"
)

// An apiserver compares the times of managedFields to the nanosecond, which JSON rounds off: equal ones may differ.
func TestRoundedTimes(t *testing.T) {
	deployment := func(manager string, at *metav1.Time) ref.Val {
		return value.OfStruct(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Name: "web", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: manager, Time: at}},
		}})
	}
	then, later := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	field := func(v ref.Val, names ...string) ref.Val {
		for _, name := range names {
			v = v.(traits.Indexer).Get(types.String(name))
		}
		return v
	}
	a, same := deployment("m", &then), deployment("m", &then)
	for _, c := range []struct {
		name string
		a, b ref.Val
		want ref.Val
	}{
		{"another time", a, deployment("m", &later), types.False},
		{"another manager", a, deployment("n", &then), types.False},
		{"no time", deployment("m", nil), deployment("m", nil), types.True},
		{"itself", a, a, types.True},
		{"object", a, same, nil},
		{"metadata", field(a, "metadata"), field(same, "metadata"), nil},
		{"managedFields", field(a, "metadata", "managedFields"), field(same, "metadata", "managedFields"), nil},
		{"name", field(a, "metadata", "name"), field(same, "metadata", "name"), types.True},
		{"spec", field(a, "spec"), field(same, "spec"), types.True},
	} {
		if got := compared(c.a, c.b); got != c.want {
			t.Errorf("%s: got %v, want %v (nil: not known)", c.name, got, c.want)
		}
	}
}

// compared compares two values; nil where that panics with an Unknowable.
func compared(a, b ref.Val) (result ref.Val) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(value.Unknowable); !ok {
				panic(p)
			}
		}
	}()
	return a.Equal(b)
}
