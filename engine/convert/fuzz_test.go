package convert_test

import (
	stdjson "encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/vapshadow/vapshadow/engine/convert"
)

// FuzzConvert feeds any JSON object to every conversion: no panic, the input unchanged, and a result of the kind
// that was asked for.
func FuzzConvert(f *testing.F) {
	for _, name := range []string{"recorded.jsonl"} {
		for _, c := range readConversions(f, name) {
			from, err := stdjson.Marshal(c.From)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(from, kindOf(c.To).GroupVersion().String(), c.Decoded)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, apiVersion string, decoded bool) {
		var obj map[string]any
		if json.Unmarshal(content, &obj) != nil || obj == nil {
			t.Skip()
		}
		before := runtime.DeepCopyJSON(obj)
		kind, _ := obj["kind"].(string)
		to := schema.FromAPIVersionAndKind(apiVersion, kind)
		for _, custom := range []bool{false, true} {
			out, err := convert.Converter{Decoded: decoded}.Convert(obj, to, custom, convert.StrategyNone)
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Fatalf("the input was changed:\n%s", diff)
			}
			if (err == nil) != (out != nil) {
				t.Fatalf("got object %v and error %v", out, err)
			}
			if err == nil && kindOf(out) != to {
				t.Fatalf("got %s, want %s", kindOf(out), to)
			}
		}
	})
}

func BenchmarkConvert(b *testing.B) {
	seen := map[string]bool{}
	for _, c := range readConversions(b, "recorded.jsonl") {
		name := kindOf(c.From).Kind + " " + kindOf(c.From).GroupVersion().String() + " to " + kindOf(c.To).GroupVersion().String()
		if seen[name] {
			continue
		}
		seen[name] = true
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.convert(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
