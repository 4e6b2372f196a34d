package manifest_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/internal/manifest"
)

// FuzzRead looks for panics, and for objects that are none.
func FuzzRead(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n---\n{\"kind\": \"PodList\", \"apiVersion\": \"v1\", \"items\": [{}]}"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("items:\n  - \"\n- a\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := manifest.Walk([]string{"-"}, manifest.Options{Stdin: bytes.NewReader(text)}, func(o manifest.Object) error {
			if o.Kind == "" || o.APIVersion == "" || o.Content["kind"] != o.Kind || o.Content["apiVersion"] != o.APIVersion || o.At.Line < 1 {
				t.Errorf("%s is no object: %v", o.At, o.Content)
			}
			return nil
		})
		if err != nil && !strings.Contains(err.Error(), "compress") {
			t.Error(err)
		}
	})
}
