package value_test

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/randfill"
)

// fillers fill what is not free to hold anything. Few values of each make equal ones frequent.
var fillers = []any{
	func(q *resource.Quantity, c randfill.Continue) {
		*q = resource.MustParse([]string{"0", "1", "1000m", "1Gi", "1024Mi", "100m"}[c.Intn(6)])
	},
	func(at *metav1.Time, c randfill.Continue) { *at = metav1.Time{Time: instant(c)} },
	func(at *metav1.MicroTime, c randfill.Continue) { *at = metav1.MicroTime{Time: instant(c)} },
	func(d *metav1.Duration, c randfill.Continue) { d.Duration = time.Duration(c.Intn(3)) * time.Second },
	func(raw *runtime.RawExtension, c randfill.Continue) {
		*raw = []runtime.RawExtension{{}, {Raw: []byte(`{"a":{"b":1.5}}`)}, {Object: &metav1.CreateOptions{DryRun: []string{"All"}}}}[c.Intn(3)]
	},
	func(f *metav1.FieldsV1, c randfill.Continue) {
		f.SetRawString([]string{`{"f:a":{}}`, `{"f:b":{"f:c":{}}}`, `{}`}[c.Intn(3)])
	},
	func(s *string, c randfill.Continue) { *s = []string{"", "a", "b", "name", "<é>"}[c.Intn(5)] },
	func(b *[]byte, c randfill.Continue) { *b = [][]byte{nil, {}, {0, 255}, []byte("a")}[c.Intn(4)] },
	func(i *int32, c randfill.Continue) { *i = int32(c.Intn(3)) },
	func(i *int64, c randfill.Continue) { *i = int64(c.Intn(3)) },
}

func instant(c randfill.Continue) time.Time {
	switch c.Intn(4) {
	case 0:
		return time.Time{}
	case 1:
		return time.Unix(1, 500).UTC()
	case 2:
		return time.Unix(1, 0).In(time.FixedZone("", 3600))
	}
	return time.Unix(1, 0).UTC()
}

// drawStruct fills a new struct of the type, sparsely or densely.
func drawStruct(t *rapid.T, kind reflect.Type) any {
	sparse := rapid.SampledFrom([]float64{0.3, 0.6, 0.9}).Draw(t, "sparse")
	filler := randfill.NewWithSeed(rapid.Int64().Draw(t, "seed")).NilChance(sparse).NumElements(0, 2).MaxDepth(14).Funcs(fillers...)
	object := reflect.New(kind).Interface()
	filler.Fill(object)
	return object
}

// drawOther draws what to compare an object with: a copy, a copy that one field was changed in, or another object.
func drawOther(t *rapid.T, kind reflect.Type) func(object any) any {
	how := rapid.IntRange(0, 2).Draw(t, "other")
	other := drawStruct(t, kind)
	way := rapid.SliceOfN(rapid.IntRange(0, 50), 6, 6).Draw(t, "way")
	return func(object any) any {
		if how == 0 {
			return other
		}
		same := copyOf(object)
		if how == 2 {
			change(reflect.ValueOf(same).Elem(), reflect.ValueOf(other).Elem(), way)
		}
		return same
	}
}

func copyOf(object any) any {
	out := reflect.ValueOf(object).MethodByName("DeepCopy").Call(nil)
	return out[0].Interface()
}

// change goes some way into a struct, and takes the field it arrives at from another one.
func change(v, from reflect.Value, way []int) {
	for _, step := range way {
		if v.Kind() == reflect.Pointer && !v.IsNil() && !from.IsNil() {
			v, from = v.Elem(), from.Elem()
		}
		if v.Kind() != reflect.Struct || v.NumField() == 0 || !v.Type().Field(step%v.NumField()).IsExported() {
			break
		}
		v, from = v.Field(step%v.NumField()), from.Field(step%v.NumField())
	}
	v.Set(from)
}
