package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/internal/manifest"
)

// TestDigest tells what changes a digest from what does not.
func TestDigest(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", "a: 1")
	digest := func() string {
		t.Helper()
		d, err := manifest.Digest([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := digest()
	for _, tt := range []struct {
		name   string
		change func()
		same   bool
	}{
		{"written again", func() { write(t, dir, "a.yaml", "a: 1") }, true},
		{"a file that is not read", func() { write(t, dir, "README.md", "a") }, true},
		{"another text", func() { write(t, dir, "a.yaml", "a: 2") }, false},
		{"another file", func() { write(t, dir, "a.yaml", "a: 1"); write(t, dir, "b.yaml", "") }, false},
		{"another name", func() {
			if err := os.Remove(filepath.Join(dir, "b.yaml")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "c.yaml")); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		tt.change()
		if got := digest(); (got == first) != tt.same {
			t.Errorf("%s: the digest is the same: %v", tt.name, got == first)
		}
	}
}

func TestDigestErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"-": "cannot be read again", filepath.Join(t.TempDir(), "none.yaml"): "no such file",
	} {
		if _, err := manifest.Digest([]string{pattern}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
