package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/internal/manifest"
)

const (
	pods    = 50_000
	pod     = "- apiVersion: v1\n  kind: Pod\n  metadata:\n    labels:\n      app: web\n    name: web-%d\n    namespace: shop\n  spec:\n    containers:\n    - image: web:1\n      name: web\n      resources:\n        requests:\n          cpu: 100m\n"
	podJSON = `{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"app":"web"},"name":"web-%d","namespace":"shop"},"spec":{"containers":[{"image":"web:1","name":"web","resources":{"requests":{"cpu":"100m"}}}]}}`
)

// BenchmarkWalk reads a list of 50,000 pods. x/size is the memory that was taken from the system at most, as a multiple of
// the file; it counts from the start of the test binary, so run one of the benchmarks at a time.
func BenchmarkWalk(b *testing.B) {
	for name, list := range map[string]struct{ begin, item, between, end string }{
		"yaml": {"apiVersion: v1\nitems:\n", pod, "", "kind: List\n"},
		"json": {`{"apiVersion":"v1","items":[`, podJSON, ",\n", `],"kind":"List"}`},
	} {
		b.Run(name, func(b *testing.B) {
			var text strings.Builder
			text.WriteString(list.begin)
			for i := range pods {
				if i > 0 {
					text.WriteString(list.between)
				}
				fmt.Fprintf(&text, list.item, i)
			}
			text.WriteString(list.end)
			size := text.Len()
			path := filepath.Join(b.TempDir(), "pods")
			if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
				b.Fatal(err)
			}
			text.Reset()
			b.SetBytes(int64(size))
			for b.Loop() {
				n := 0
				_, err := manifest.Walk([]string{path}, manifest.Options{}, func(manifest.Object) error { n++; return nil })
				if err != nil || n != pods {
					b.Fatal(n, err)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys)/float64(size), "x/size")
		})
	}
}
