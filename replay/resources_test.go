package replay_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/replay"
)

func TestResourcesAsRecorded(t *testing.T) {
	// What admission was given, with discovery and definitions known, and with the definitions and the table alone.
	for _, source := range []string{"table", "discovery", "discovery first", "discovery alone"} {
		t.Run(source, func(t *testing.T) {
			apiservers := map[int]*replay.Resources{36: recordedResources(t, 36, source), 37: recordedResources(t, 37, source)}
			for _, f := range wordsOf(t, "admission.txt") {
				minor, gvr, subresource, want := numberOf(t, f[0]), gvrOf(t, f[1], f[2]), strings.TrimPrefix(f[3], "-"), gvkOf(t, f[4], f[5])
				r := apiservers[minor]
				if got, ok := r.Kind(gvr, subresource); !ok || got != want {
					t.Errorf("1.%d: Kind(%v, %q) = %v, %v; want %v", minor, gvr, subresource, got, ok, want)
				}
				if !r.Served(gvr) {
					t.Errorf("1.%d: %v is not served", minor, gvr)
				}
				if strategy, custom := r.Custom(gvr); custom != strings.HasSuffix(gvr.Group, "example.com") || custom && strategy != "None" && source != "discovery alone" {
					t.Errorf("1.%d: Custom(%v) = %q, %v", minor, gvr, strategy, custom)
				}
				if subresource != "" {
					continue
				}
				if got, _, ok := r.Resource(want); !ok || got != gvr {
					t.Errorf("1.%d: Resource(%v) = %v, %v; want %v", minor, want, got, ok, gvr)
				}
			}
			for _, f := range wordsOf(t, "equivalent.txt") {
				gvr, other := gvrOf(t, f[1], f[2]), gvrOf(t, f[4], f[5])
				r := apiservers[numberOf(t, f[0])]
				found := false
				for _, e := range r.Equivalents(gvr, strings.TrimPrefix(f[3], "-")) {
					found = found || e == other
				}
				if !found {
					t.Errorf("%v is not equivalent to %v", other, gvr)
				}
				if got, _ := r.Kind(other, ""); got != gvkOf(t, f[6], f[7]) {
					t.Errorf("Kind(%v) = %v, want %v %v", other, got, f[6], f[7])
				}
			}
		})
	}
}

// The table says the same as the discovery of real apiservers about what is served by default.
func TestBuiltinResourcesAreThoseOfDiscovery(t *testing.T) {
	for _, minor := range []int{36, 37} {
		table := replay.BuiltinResources(minor)
		served := 0
		for _, gvr := range discovered(t, minor) {
			if strings.HasSuffix(gvr.gvr.Group, "example.com") {
				continue
			}
			served++
			got, ok := table.Kind(gvr.gvr, gvr.subresource)
			if !ok || got != gvr.kind {
				t.Errorf("1.%d: Kind(%v, %q) = %v, %v; want %v", minor, gvr.gvr, gvr.subresource, got, ok, gvr.kind)
			}
			if !table.Served(gvr.gvr) {
				t.Errorf("1.%d: %v is not served by default", minor, gvr.gvr)
			}
			if namespaced, ok := table.Namespaced(gvr.gvr); !ok || namespaced != gvr.namespaced {
				t.Errorf("1.%d: Namespaced(%v) = %v, %v", minor, gvr.gvr, namespaced, ok)
			}
		}
		// Nothing more is served: discovery of the same apiserver takes nothing away.
		before, after := served, 0
		r := recordedResources(t, minor, "discovery")
		for f := range strings.SplitSeq(readText(t, filepath.Join("resources_builtin.txt")), "\n") {
			if f == "" || f[0] == '#' {
				continue
			}
			columns := strings.Fields(f)
			gvr := gvrOf(t, columns[0], columns[1])
			if table.Served(gvr) && !r.Served(gvr) {
				t.Errorf("1.%d: the table serves %v, the apiserver does not", minor, gvr)
			}
			if table.Served(gvr) {
				after++
			}
		}
		if before < 60 || after < 60 {
			t.Errorf("1.%d: compared %d and %d resources only", minor, before, after)
		}
	}
}

func TestBuiltinResourcesByMinor(t *testing.T) {
	for _, c := range []struct {
		gv, resource, subresource string
		known                     []int // minors, of 30 to 37, that know it
		served                    []int
	}{
		{"v1", "pods", "", minorsOf(30, 37), minorsOf(30, 37)},
		{"v1", "pods", "resize", minorsOf(32, 37), minorsOf(30, 37)},
		{"flowcontrol.apiserver.k8s.io/v1beta3", "flowschemas", "status", minorsOf(30, 31), minorsOf(30, 31)},
		{"networking.k8s.io/v1", "ipaddresses", "", minorsOf(33, 37), minorsOf(33, 37)},
		{"networking.k8s.io/v1beta1", "ipaddresses", "", minorsOf(31, 36), nil},
		{"resource.k8s.io/v1beta2", "resourceclaims", "status", minorsOf(33, 37), nil},
		{"resource.k8s.io/v1", "resourceclaims", "status", minorsOf(34, 37), minorsOf(34, 37)},
		{"scheduling.k8s.io/v1alpha2", "podgroups", "", minorsOf(36, 36), nil},
		{"storage.k8s.io/v1", "csinodes", "status", minorsOf(37, 37), minorsOf(30, 37)},
	} {
		var known, served []int
		for minor := 30; minor <= 37; minor++ {
			r := replay.BuiltinResources(minor)
			gvr := gvrOf(t, c.gv, c.resource)
			if _, ok := r.Kind(gvr, c.subresource); ok {
				known = append(known, minor)
			}
			if r.Served(gvr) {
				served = append(served, minor)
			}
		}
		if diff := cmp.Diff([][]int{c.known, c.served}, [][]int{known, served}); diff != "" {
			t.Errorf("%s %s/%s, known and served (-want +got):\n%s", c.gv, c.resource, c.subresource, diff)
		}
	}
	// Outside of the table the nearest minor stands in.
	if _, ok := replay.BuiltinResources(29).Kind(gvrOf(t, "networking.k8s.io/v1alpha1", "ipaddresses"), ""); !ok {
		t.Error("1.29 does not have the resources of 1.30")
	}
	if !replay.BuiltinResources(38).Served(gvrOf(t, "v1", "pods")) {
		t.Error("1.38 has no pods")
	}
}

func TestUnknownResources(t *testing.T) {
	r := recordedResources(t, 37, "discovery")
	for _, gvr := range []schema.GroupVersionResource{{}, {Version: "v1"}, {Group: "apps", Version: "v2", Resource: "deployments"}, {Group: "nobody.io", Version: "v1", Resource: "pods"}} {
		if k, ok := r.Kind(gvr, ""); ok {
			t.Errorf("Kind(%v) = %v", gvr, k)
		}
		if _, ok := r.Namespaced(gvr); ok {
			t.Errorf("Namespaced(%v) is known", gvr)
		}
		if _, ok := r.Custom(gvr); ok || r.Served(gvr) || r.Equivalents(gvr, "") != nil {
			t.Errorf("%v is known", gvr)
		}
	}
	if _, ok := r.Kind(gvrOf(t, "v1", "pods"), "scale"); ok {
		t.Error("pods have a scale subresource")
	}
	for _, gvk := range []schema.GroupVersionKind{{}, {Group: "autoscaling", Version: "v1", Kind: "Scale"}, {Group: "policy", Version: "v1", Kind: "Eviction"}, {Version: "v1", Kind: "PodExecOptions"}} {
		if gvr, _, ok := r.Resource(gvk); ok {
			t.Errorf("Resource(%v) = %v", gvk, gvr)
		}
	}
}

func TestEquivalents(t *testing.T) {
	withBetas := recordedResources(t, 37, "discovery")
	withBetas, err := withBetas.WithDiscovery(decodeYAML(t, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"resource.k8s.io/v1beta1",
		"resources":[{"name":"resourceclaims","namespaced":true,"kind":"ResourceClaim"},{"name":"resourceclaims/status","namespaced":true,"kind":"ResourceClaim"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name                      string
		resources                 *replay.Resources
		gv, resource, subresource string
		want                      []string
	}{
		{"events, core first", replay.BuiltinResources(37), "events.k8s.io/v1", "events", "", []string{"v1", "events.k8s.io/v1"}},
		{"core events", replay.BuiltinResources(37), "v1", "events", "", []string{"v1", "events.k8s.io/v1"}},
		{"preferred version first", replay.BuiltinResources(37), "autoscaling/v1", "horizontalpodautoscalers", "status", []string{"autoscaling/v2", "autoscaling/v1"}},
		{"no other version", replay.BuiltinResources(37), "apps/v1", "deployments", "scale", []string{"apps/v1"}},
		{"no such subresource", replay.BuiltinResources(37), "apps/v1", "daemonsets", "scale", nil},
		{"betas are off", replay.BuiltinResources(37), "resource.k8s.io/v1", "resourceclaims", "", []string{"resource.k8s.io/v1"}},
		{"but who uses one has it", replay.BuiltinResources(37), "resource.k8s.io/v1beta1", "resourceclaims", "", []string{"resource.k8s.io/v1", "resource.k8s.io/v1beta1"}},
		{"a beta served", withBetas, "resource.k8s.io/v1", "resourceclaims", "status", []string{"resource.k8s.io/v1", "resource.k8s.io/v1beta1"}},
		{"not what discovery leaves out", withBetas, "resource.k8s.io/v1", "deviceclasses", "", []string{"resource.k8s.io/v1"}},
		{"beta flow control", replay.BuiltinResources(31), "flowcontrol.apiserver.k8s.io/v1", "flowschemas", "status", []string{"flowcontrol.apiserver.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1beta3"}},
		{"custom versions", recordedResources(t, 37, "table"), "stable.example.com/v1beta1", "widgets", "scale", []string{"stable.example.com/v1", "stable.example.com/v1beta1"}},
	} {
		var got []string
		for _, e := range c.resources.Equivalents(gvrOf(t, c.gv, c.resource), c.subresource) {
			if e.Resource != c.resource {
				t.Errorf("%s: got %v", c.name, e)
			}
			got = append(got, e.GroupVersion().String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

type discoveredResource struct {
	gvr         schema.GroupVersionResource
	subresource string
	kind        schema.GroupVersionKind
	namespaced  bool
}

// discovered reads the recorded discovery without the code under test.
func discovered(t *testing.T, minor int) (out []discoveredResource) {
	t.Helper()
	str := func(v any, path ...string) string {
		for _, p := range path[:len(path)-1] {
			v = v.(map[string]any)[p]
		}
		s, _ := v.(map[string]any)[path[len(path)-1]].(string)
		return s
	}
	list := func(v any, name string) []any {
		l, _ := v.(map[string]any)[name].([]any)
		return l
	}
	for _, document := range discoveryOf(t, minor) {
		for _, group := range list(document, "items") {
			for _, version := range list(group, "versions") {
				gv := schema.GroupVersion{Group: str(group, "metadata", "name"), Version: str(version, "version")}
				for _, res := range list(version, "resources") {
					add := func(subresource string, v any) {
						k := schema.GroupVersionKind{Group: str(v, "responseKind", "group"), Version: str(v, "responseKind", "version"), Kind: str(v, "responseKind", "kind")}
						if k.Version == "" {
							k = gv.WithKind(k.Kind)
						}
						out = append(out, discoveredResource{gv.WithResource(str(res, "resource")), subresource, k, str(res, "scope") == "Namespaced"})
					}
					add("", res)
					for _, sub := range list(res, "subresources") {
						add(str(sub, "subresource"), sub)
					}
				}
			}
		}
	}
	return out
}

// recordedResources are the resources of a recorded apiserver, told in several ways.
func recordedResources(t *testing.T, minor int, source string) *replay.Resources {
	t.Helper()
	r := replay.BuiltinResources(minor)
	discover := func() {
		for _, document := range discoveryOf(t, minor) {
			r = mustResources(r.WithDiscovery(document))(t)
		}
	}
	define := func() {
		for _, crd := range crdsOf(t) {
			r = mustResources(r.WithCRD(crd))(t)
		}
	}
	switch source {
	case "table":
		define()
	case "discovery":
		define()
		discover()
	case "discovery first":
		discover()
		define()
	case "discovery alone":
		discover()
	}
	return r
}

func discoveryOf(t *testing.T, minor int) []map[string]any {
	return []map[string]any{
		decodeYAML(t, readText(t, "testdata/resources/api.json")),
		decodeYAML(t, readText(t, "testdata/resources/1."+strconv.Itoa(minor)+"-apis.json")),
	}
}

func crdsOf(t *testing.T) (out []map[string]any) {
	for _, item := range decodeYAML(t, readText(t, "testdata/resources/crds.yaml"))["items"].([]any) {
		out = append(out, item.(map[string]any))
	}
	return out
}

// wordsOf reads a file of testdata/resources, a line a slice of words.
func wordsOf(t *testing.T, name string) (out [][]string) {
	t.Helper()
	scanner := bufio.NewScanner(strings.NewReader(readText(t, filepath.Join("testdata/resources", name))))
	for scanner.Scan() {
		if !strings.HasPrefix(scanner.Text(), "#") {
			out = append(out, strings.Fields(scanner.Text()))
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return out
}

func decodeYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	content, err := parseYAML(text)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func parseYAML(text string) (content map[string]any, err error) {
	err = yaml.Unmarshal([]byte(text), &content)
	return content, err
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func mustResources(r *replay.Resources, err error) func(*testing.T) *replay.Resources {
	return func(t *testing.T) *replay.Resources {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

func gvrOf(t testing.TB, gv, name string) schema.GroupVersionResource {
	t.Helper()
	return gvOf(t, gv).WithResource(name)
}

func gvkOf(t testing.TB, gv, name string) schema.GroupVersionKind {
	t.Helper()
	return gvOf(t, gv).WithKind(name)
}

func gvOf(t testing.TB, s string) schema.GroupVersion {
	t.Helper()
	gv, err := schema.ParseGroupVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return gv
}

func numberOf(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func minorsOf(first, last int) (out []int) {
	for n := first; n <= last; n++ {
		out = append(out, n)
	}
	return out
}
