package policy_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/vapshadow/vapshadow/engine/policy"
	"github.com/vapshadow/vapshadow/internal/manifest"
)

// FuzzLoad looks for panics, and for objects that are lost or counted twice.
func FuzzLoad(f *testing.F) {
	for _, file := range []string{"bindings", "conditions", "rules", "spec", "validations", "variables", "types", "versions"} {
		text, err := os.ReadFile("testdata/refused/" + file + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		for document := range bytes.SplitSeq(text, []byte("---\n")) {
			f.Add(document, false)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, stored bool) {
		objects, _, err := manifest.Read([]string{"-"}, manifest.Options{Stdin: bytes.NewReader(text)})
		if err != nil {
			return
		}
		set, refusals, rest := policy.Load(objects, policy.Options{Stored: stored})
		refused := map[manifest.Position]bool{}
		for _, r := range refusals {
			refused[r.At] = true
		}
		if got := len(set.Policies) + len(set.Bindings) + len(rest) + len(refused); got != len(objects) {
			t.Errorf("%d of %d objects are accounted for", got, len(objects))
		}
		for _, p := range set.Policies {
			policy.ContentHash(p)
		}
	})
}
