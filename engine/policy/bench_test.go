package policy_test

import (
	"fmt"
	"testing"

	"github.com/vapshadow/vapshadow/engine/policy"
	"github.com/vapshadow/vapshadow/internal/manifest"
)

// BenchmarkLoad loads 500 policies, with and without variables.
func BenchmarkLoad(b *testing.B) {
	load := func(file string, keep func(manifest.Object) bool) []manifest.Object {
		var kept, out []manifest.Object
		for _, o := range read(b, file) {
			if o.Kind == "ValidatingAdmissionPolicy" && keep(o) {
				kept = append(kept, o)
			}
		}
		for i := range 500 {
			o := kept[i%len(kept)]
			content := map[string]any{"metadata": map[string]any{"name": fmt.Sprintf("p%d", i)}, "spec": o.Content["spec"]}
			out = append(out, manifest.Object{APIVersion: o.APIVersion, Kind: o.Kind, Content: content, At: o.At})
		}
		return out
	}
	for _, variables := range []bool{false, true} {
		objects := load("testdata/accepted/applied.yaml", func(o manifest.Object) bool {
			_, has := o.Content["spec"].(map[string]any)["variables"]
			return has == variables
		})
		b.Run(fmt.Sprintf("variables=%t", variables), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set, refusals, _ := policy.Load(objects, policy.Options{})
				if len(set.Policies) != 500 {
					b.Fatal(refusals)
				}
			}
		})
	}
}
