package manifest_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/vapshadow/vapshadow/internal/manifest"
)

// TestReadFiles reads patterns in one folder; what is found is compared by name, in order.
func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.yaml", "a.yml", "sub/c.json", "sub/deep/d.yaml", "e.txt", "[x].yaml", "f.txt.gz", ".git/g.yaml", "..data/b.yaml", ".h.yaml", "other/i.yaml"} {
		write(t, dir, name, fmt.Sprintf(configMap, `"`+strings.TrimPrefix(name, "sub/")+`"`))
	}
	write(t, dir, "j.yaml.gz", string(gzipped(t, fmt.Sprintf(configMap, "gzip")+"---\n"+fmt.Sprintf(configMap, "second"))))
	write(t, dir, "k.yaml.zst", string(zstdCompressed(t, fmt.Sprintf(configMap, "zstd"))))
	write(t, dir, "l.yaml", string(gzipped(t, fmt.Sprintf(configMap, "by content"))))
	if err := os.Symlink(filepath.Join(dir, "b.yaml"), filepath.Join(dir, "m.yaml")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		patterns []string
		want     []string
	}{
		{"a file", []string{"b.yaml"}, []string{"b.yaml"}},
		{"a file of any name", []string{"e.txt"}, []string{"e.txt"}},
		{"a glob", []string{"?.yaml"}, []string{"b.yaml", "by content"}},
		{"a name with the characters of a glob", []string{"[x].yaml"}, []string{"[x].yaml"}},
		{"a folder", []string{"sub"}, []string{"c.json", "deep/d.yaml"}},
		{"a folder once, though twice named", []string{"sub/deep", "sub", "./sub/c.json"}, []string{"deep/d.yaml", "c.json"}},
		{
			"everything but hidden files and links to files that are there", []string{"."},
			[]string{"[x].yaml", "a.yml", "b.yaml", "gzip", "second", "zstd", "by content", "other/i.yaml", "c.json", "deep/d.yaml"},
		},
	}
	t.Chdir(dir)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, problems, err := manifest.Read(tt.patterns, manifest.Options{})
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			var got []string
			for _, o := range objects {
				got = append(got, o.Content["metadata"].(map[string]any)["name"].(string))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadRefusesPatterns(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "empty/README.md", "")
	write(t, dir, "cut.yaml.gz", string(gzipped(t, strings.Repeat("a", 1000))[:20]))
	write(t, dir, "x.xz", "\xfd7zXZ\x00rest")
	t.Chdir(dir)
	for pattern, want := range map[string]string{
		"none.yaml":   "reading none.yaml: no such file or directory",
		"none*.yaml":  `no file matches "none*.yaml"`,
		"[":           `"[" is no valid file pattern: syntax error in pattern`,
		"empty":       "folder empty has no .yaml, .yml or .json files",
		"cut.yaml.gz": "reading cut.yaml.gz: decompressing gzip: unexpected EOF",
		"x.xz":        "reading x.xz: it is compressed with xz, which is not read here: decompress it first",
		"-":           "reading standard input: there is no standard input here: name a file",
	} {
		if _, _, err := manifest.Read([]string{pattern}, manifest.Options{}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", pattern, err, want)
		}
	}
}

func TestLinkedFolderIsAProblem(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "real/a.yaml", fmt.Sprintf(configMap, "a"))
	write(t, dir, "policies/b.yaml", fmt.Sprintf(configMap, "b"))
	if err := os.Symlink("../real", filepath.Join(dir, "policies/link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	objects, problems, err := manifest.Read([]string{"policies"}, manifest.Options{})
	if err != nil || len(objects) != 1 {
		t.Fatal(objects, err)
	}
	want := "policies/link: is a link to a folder and was not entered: name it as well to read it"
	if len(problems) != 1 || problems[0].Error() != want {
		t.Errorf("got %v, want %s", problems, want)
	}
	if objects, _, err = manifest.Read([]string{"policies", "policies/link"}, manifest.Options{}); err != nil || len(objects) != 2 {
		t.Errorf("with the link named: got %v, %v", objects, err)
	}
}

func TestCompressedStandardInput(t *testing.T) {
	stdin := bytes.NewReader(gzipped(t, fmt.Sprintf(configMap, "a")))
	objects, _, err := manifest.Read([]string{"-", "-"}, manifest.Options{Stdin: stdin})
	if err != nil || len(objects) != 1 {
		t.Errorf("got %v, %v", objects, err)
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdCompressed(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}
