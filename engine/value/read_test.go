package value_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/engine/value"
	"github.com/vapshadow/vapshadow/internal/jsonobject"
)

// TestRead: an object is read as Kubernetes' own converter reads it, whatever the kind, and parts of it that come again too,
// in the same object and in one that differs somewhere.
func TestRead(t *testing.T) {
	kinds := apiTypes()
	read, shared := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "type")
		data, err := json.Marshal(drawStruct(t, kind))
		if err != nil {
			t.Skip(err)
		}
		var content map[string]any
		if err := kjson.Unmarshal(data, &content); err != nil {
			t.Fatal(err)
		}
		changed, err := json.Marshal(otherwise(t, content))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{data, data, changed} {
			decoded := jsonobject.Decode(text)
			if decoded == nil || !value.Fits(decoded, kind) {
				continue
			}
			read++
			if anyShared(decoded) {
				shared++
			}
			want := reflect.New(kind).Interface()
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(decoded, want); err != nil {
				t.Fatal(err)
			}
			got, err := value.Read(decoded, kind)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("%s\nis read as %#v\ninstead of %#v", text, got, want)
			}
		}
	})
	if read < 20 || shared < 10 {
		t.Errorf("%d objects were read, %d of them with parts that come again", read, shared)
	}
}

func anyShared(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return jsonobject.Again(v) || slices.ContainsFunc(slices.Collect(maps.Values(v)), anyShared)
	case []any:
		return slices.ContainsFunc(v, anyShared)
	}
	return false
}

func BenchmarkRead(b *testing.B) {
	data, err := json.Marshal(benchmarkPod())
	if err != nil {
		b.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		decode func() map[string]any
	}{
		{"again", func() map[string]any { return jsonobject.Decode(data) }},
		{"new", func() map[string]any {
			var content map[string]any
			_ = kjson.Unmarshal(data, &content) // It was just made.
			return content
		}},
	} {
		content := tt.decode()
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := value.Read(content, reflect.TypeFor[corev1.Pod]()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
