package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/engine/policy"
	"github.com/vapshadow/vapshadow/internal/manifest"
)

// TestRefusedAsByApiservers loads the documents of testdata/refused one by one. NAME.1.N.txt holds what an apiserver
// 1.N says of each document of NAME.yaml: an object without a reason below it is accepted.
func TestRefusedAsByApiservers(t *testing.T) {
	files, err := filepath.Glob("testdata/refused/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		objects := read(t, file)
		for minor := policy.OldestMinor; minor <= policy.NewestMinor; minor++ {
			want, err := os.ReadFile(fmt.Sprintf("%s.1.%d.txt", strings.TrimSuffix(file, ".yaml"), minor))
			if os.IsNotExist(err) {
				continue
			}
			t.Run(fmt.Sprintf("%s/1.%d", filepath.Base(file), minor), func(t *testing.T) {
				if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(reasons(objects, minor), "\n")); diff != "" {
					t.Errorf("(-apiserver +got):\n%s", diff)
				}
			})
		}
	}
}

// reasons loads each object by itself and lists why it is refused.
func reasons(objects []manifest.Object, minor int) string {
	var b strings.Builder
	for _, o := range objects {
		metadata, _ := o.Content["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		fmt.Fprintf(&b, "%s %q\n", o.Kind, name)
		_, refusals, _ := policy.Load([]manifest.Object{o}, policy.Options{Minor: minor})
		for _, r := range refusals {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(r.Err.Error(), "\n", "\n  "))
		}
	}
	return b.String()
}

func read(t testing.TB, patterns ...string) []manifest.Object {
	t.Helper()
	objects, problems, err := manifest.Read(patterns, manifest.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return objects
}
