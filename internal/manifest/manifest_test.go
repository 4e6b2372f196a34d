package manifest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/internal/manifest"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"

// TestReadText reads standard input; objects and problems are compared as lines.
func TestReadText(t *testing.T) {
	tests := []struct {
		name, text        string
		objects, problems []string
	}{
		{
			name:    "one YAML document",
			text:    fmt.Sprintf(configMap, "a"),
			objects: []string{"v1 ConfigMap a @1 (document 1)"},
		},
		{
			name: "documents, comments, blank ones and other marks",
			text: "# a licence\n---\n---  # nothing\n\n# and\n" + fmt.Sprintf(configMap, "a") + "...\n%YAML 1.1\n--- # next\r\n" +
				fmt.Sprintf(configMap, "b") + "---\n~\n--- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n",
			objects: []string{"v1 ConfigMap a @6 (document 1)", "v1 ConfigMap b @12 (document 2)", "v1 ConfigMap c @17 (document 4)"},
		},
		{
			name:    "marks within a block are text",
			text:    fmt.Sprintf(configMap, "a") + "data:\n  x: |\n    ---\n    b\n",
			objects: []string{"v1 ConfigMap a @1 (document 1)"},
		},
		{
			name: "a broken document does not hide the others",
			text: fmt.Sprintf(configMap, "a") + "---\nkind: ConfigMap\nmetadata:\n  name: x\n bad\n---\n" + fmt.Sprintf(configMap, "b"),
			objects: []string{
				"v1 ConfigMap a @1 (document 1)", "v1 ConfigMap b @10 (document 3)",
			},
			problems: []string{"standard input:5 (document 2): invalid YAML: line 7: did not find expected key"},
		},
		{
			name:     "a key that stands twice: the last counts",
			text:     "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nmetadata: {name: b}\n",
			objects:  []string{"v1 ConfigMap b @2 (document 1)"},
			problems: []string{`standard input:2 (document 1): duplicate key: metadata in line 5`},
		},
		{
			name: "JSON values after each other",
			text: "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}\n{\n\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b\",\"name\":\"c\"}}",
			objects: []string{
				"v1 ConfigMap a @1 (document 1)", "v1 ConfigMap c @2 (document 2)",
			},
			problems: []string{`standard input:2 (document 2): duplicate key: metadata.name`},
		},
		{
			name:     "broken JSON after good JSON",
			text:     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}\n{\"apiVersion\":\n]}",
			objects:  []string{"v1 ConfigMap a @1 (document 1)"},
			problems: []string{"standard input:2 (document 2): invalid JSON in line 3: invalid character ']' at start of value"},
		},
		{
			name:    "YAML that begins like JSON",
			text:    "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
			objects: []string{"v1 ConfigMap a @1 (document 1)"},
		},
		{
			name:    "no objects",
			text:    "--- {\"openapi\": \"3.0\", \"paths\": {}}\n--- [1]\n--- text\n---\nkind: {}\napiVersion: v1\n",
			objects: nil,
			problems: []string{
				"standard input:1 (document 1): not a Kubernetes object: it has no apiVersion or no kind",
				"standard input:2 (document 2): not a Kubernetes object: it is a JSON array",
				"standard input:3 (document 3): not a Kubernetes object: it is a JSON string",
				"standard input:5 (document 4): not a Kubernetes object: it has no apiVersion or no kind",
			},
		},
		{
			name: "a list as kubectl prints it",
			text: "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n# between\n- apiVersion: v1\n  kind: ConfigMap\n  data:\n    x: |\n      - y\n" +
				"    \"z\": \"- \n     b\"\n  metadata:\n    name: b\n- metadata: {name: untyped}\n- 7\n-\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: d, name: c}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n",
			objects: []string{
				"v1 ConfigMap a @1 (document 1, item 1)", "v1 ConfigMap b @1 (document 1, item 2)", "v1 ConfigMap c @1 (document 1, item 5)",
			},
			problems: []string{
				"standard input:1 (document 1, item 3): not a Kubernetes object: it has no apiVersion or no kind",
				"standard input:1 (document 1, item 4): not a Kubernetes object: the item is no mapping",
				`standard input:1 (document 1, item 5): duplicate key: name in line 21`,
			},
		},
		{
			name: "an indented list, and one that has to be read as a whole",
			text: "kind: List\napiVersion: v1\nitems:\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a}\n---\nkind: List\napiVersion: v1\nitems:\n" +
				"- &x\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: b}\n- <<: *x\n  metadata: {name: c}\n",
			objects: []string{
				"v1 ConfigMap a @1 (document 1, item 1)", "v1 ConfigMap b @8 (document 2, item 1)", "v1 ConfigMap c @8 (document 2, item 2)",
			},
		},
		{
			name:     "a list whose second item is broken",
			text:     "kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- {\n- apiVersion: v1\n",
			objects:  []string{"v1 ConfigMap a @1 (document 1, item 1)"},
			problems: []string{"standard input:1 (document 1): nothing was read after item 1: invalid YAML: line 7: did not find expected node content"},
		},
		{
			name: "a typed list says what its items are",
			text: `{"kind":"PodList","items":[{"metadata":{"name":"a"}},{"kind":"Pod","metadata":{"name":"b"}},7],"apiVersion":"v1"}` +
				"\n---\nkind: WidgetList\napiVersion: x.io/v1\nitems:\n- metadata: {name: c}\n",
			objects: []string{
				"v1 Pod a @1 (document 1, item 1)", "v1 Pod b @1 (document 1, item 2)", "x.io/v1 Widget c @3 (document 2, item 1)",
			},
			problems: []string{"standard input:1 (document 1, item 3): not a Kubernetes object: it is a JSON number"},
		},
		{
			name:    "a list in a list",
			text:    `{"kind":"List","apiVersion":"v1","items":[{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]},{"kind":"Pod","apiVersion":"v1","metadata":{"name":"c"}}]}`,
			objects: []string{"v1 Pod a @1 (document 1, item 1)", "v1 Pod b @1 (document 1, item 2)", "v1 Pod c @1 (document 1, item 3)"},
		},
		{
			name:    "empty lists, and lists that are none",
			text:    "kind: List\napiVersion: v1\nitems: []\n---\nkind: PodList\napiVersion: v1\nitems: null\n---\nkind: APIResourceList\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Menu\napiVersion: x.io/v1\nmetadata: {name: b}\nitems:\n- a\n",
			objects: []string{"v1 APIResourceList a @9 (document 3)", "x.io/v1 Menu b @13 (document 4)"},
		},
		{
			name:     "UTF-16",
			text:     "\xff\xfea\x00",
			problems: []string{"standard input: it is UTF-16, as PowerShell's > writes: save it as UTF-8"},
		},
		{
			name:    "a byte order mark",
			text:    "\xef\xbb\xbf" + fmt.Sprintf(configMap, "a"),
			objects: []string{"v1 ConfigMap a @1 (document 1)"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, problems := readText(t, tt.text)
			if diff := cmp.Diff(tt.objects, lines(objects)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(tt.problems, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsAreTyped(t *testing.T) {
	_, problems := readText(t, "a: 1\na: 2\n")
	if len(problems) != 2 || !errors.Is(problems[0], manifest.ErrDuplicateKey) || !errors.Is(problems[1], manifest.ErrNotObject) {
		t.Errorf("got %v, want a duplicate key and no object", problems)
	}
}

// TestReadValues holds the values to those that kubectl would send and Kubernetes decode.
func TestReadValues(t *testing.T) {
	objects, problems := readText(t, "apiVersion: v1\nkind: X\nvalues: [1, 1.5, 1e3, yes, \"yes\", off, 0777, 0o7, 0x1F, ~, 2001-01-01, 9223372036854775807, 18446744073709551615, 12_000]\n1: {true: a}\n")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "X",
		"values": []any{int64(1), 1.5, int64(1000), true, "yes", false, int64(511), int64(7), int64(31), nil, "2001-01-01", int64(9223372036854775807), 1.8446744073709552e19, int64(12000)},
		"1":      map[string]any{"true": "a"},
	}
	if diff := cmp.Diff(want, objects[0].Content); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	objects, _ = readText(t, `{"apiVersion":"v1","kind":"X","values":[1,1.0,1e3,-0,18446744073709551615,"\u00e9"]}`)
	if diff := cmp.Diff([]any{int64(1), 1.0, 1000.0, int64(0), 1.8446744073709552e19, "é"}, objects[0].Content["values"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWholeAndByItem reads the same list by items and, for an anchor that reaches over items, as a whole.
func TestWholeAndByItem(t *testing.T) {
	list := func(anchor, alias string) string {
		return "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n    labels: " + anchor + "{x: \"1\"}\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: b\n    labels: " + alias + "\n"
	}
	byItem, _ := readText(t, list("", "{x: \"1\"}"))
	whole, _ := readText(t, list("&l ", "*l"))
	if diff := cmp.Diff(byItem, whole); diff != "" || len(whole) != 2 {
		t.Errorf("(-by item +as a whole):\n%s", diff)
	}
}

func TestWalkStopsAtErrors(t *testing.T) {
	stop := errors.New("stop")
	n := 0
	_, err := manifest.Walk([]string{"-"}, manifest.Options{Stdin: strings.NewReader(strings.Repeat(fmt.Sprintf(configMap, "a")+"---\n", 3))}, func(manifest.Object) error {
		n++
		return stop
	})
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("got %v after %d objects", err, n)
	}
}

func readText(t *testing.T, text string) ([]manifest.Object, []manifest.Problem) {
	t.Helper()
	objects, problems, err := manifest.Read([]string{"-"}, manifest.Options{Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	return objects, problems
}

// lines is an object a line: what it says it is, its name, and where it stood in the file.
func lines(objects []manifest.Object) []string {
	var out []string
	for _, o := range objects {
		metadata, _ := o.Content["metadata"].(map[string]any)
		_, place, _ := strings.Cut(o.At.String(), ":")
		out = append(out, fmt.Sprintf("%s %s %v @%s", o.APIVersion, o.Kind, metadata["name"], place))
	}
	return out
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
