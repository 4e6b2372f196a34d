package replay_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/replay"
)

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.things.io}
spec:
  group: things.io
  scope: Cluster
  names: {plural: gadgets, kind: Gadget}
  conversion: {strategy: Webhook}
  versions:
  - {name: v1alpha1, served: false, storage: false}
  - {name: v1, served: true, storage: true, subresources: {status: {}}}
  - {name: v2, served: true, storage: false, subresources: {status: {}, scale: {specReplicasPath: .spec.n}}}
`

func TestWithCRD(t *testing.T) {
	empty := replay.BuiltinResources(37)
	r := mustResources(empty.WithCRD(decodeYAML(t, gadgets)))(t)
	v1, v1alpha1 := gvrOf(t, "things.io/v1", "gadgets"), gvrOf(t, "things.io/v1alpha1", "gadgets")
	if strategy, ok := r.Custom(v1); !ok || strategy != "Webhook" {
		t.Errorf("Custom = %q, %v", strategy, ok)
	}
	if namespaced, ok := r.Namespaced(v1); !ok || namespaced {
		t.Errorf("Namespaced = %v, %v", namespaced, ok)
	}
	if !r.Served(v1) || r.Served(v1alpha1) {
		t.Error("v1 is served, v1alpha1 is not")
	}
	// The apiserver counts versions that are not served too, and keeps the order of the definition.
	for subresource, want := range map[string][]string{"": {"v1alpha1", "v1", "v2"}, "status": {"v1", "v2"}, "scale": {"v2"}, "log": nil} {
		var got []string
		for _, gvr := range r.Equivalents(v1, subresource) {
			got = append(got, gvr.Version)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Equivalents(v1, %q) (-want +got):\n%s", subresource, diff)
		}
	}
	if _, ok := empty.Kind(v1, ""); ok {
		t.Error("WithCRD changed the resources that it was called on")
	}
}

func TestCRDChanges(t *testing.T) {
	r := mustResources(replay.BuiltinResources(37).WithCRD(decodeYAML(t, gadgets)))(t)
	v1 := gvrOf(t, "things.io/v1", "gadgets")

	changed := mustResources(r.WithCRD(decodeYAML(t, strings.NewReplacer(
		"- {name: v2, served: true, storage: false, subresources: {status: {}, scale: {specReplicasPath: .spec.n}}}", "",
		"scope: Cluster", "scope: Namespaced", "conversion: {strategy: Webhook}", "").Replace(gadgets))))(t)
	if got := changed.Equivalents(v1, ""); len(got) != 2 {
		t.Errorf("after v2 went: %v", got)
	}
	if strategy, _ := changed.Custom(v1); strategy != "None" {
		t.Errorf("default strategy = %q", strategy)
	}
	if namespaced, _ := changed.Namespaced(v1); !namespaced {
		t.Error("the new scope is not taken")
	}

	gone := changed.WithoutCRD("gadgets.things.io")
	if _, _, ok := gone.Resource(gvkOf(t, "things.io/v1", "Gadget")); ok {
		t.Error("still there after WithoutCRD")
	}
	if got := gone.WithoutCRD("gadgets.things.io").Served(gvrOf(t, "v1", "pods")); !got {
		t.Error("pods went too")
	}
	if len(r.Equivalents(v1, "")) != 3 {
		t.Error("an earlier state changed")
	}

	refused := decodeYAML(t, gadgets)
	refused["status"] = map[string]any{
		"acceptedNames": map[string]any{"plural": "", "kind": ""},
		"conditions":    []any{map[string]any{"type": "NamesAccepted", "status": "False"}},
	}
	if _, ok := mustResources(r.WithCRD(refused))(t).Kind(v1, ""); ok {
		t.Error("a definition without accepted names serves something")
	}
}

func TestWithCRDRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n", `"gadgets.things.io": it is a apiextensions.k8s.io/v1beta1 CustomResourceDefinition: want apiextensions.k8s.io/v1 CustomResourceDefinition`},
		{"kind: CustomResourceDefinition", "kind: Pod", "want apiextensions.k8s.io/v1 CustomResourceDefinition"},
		{"{name: gadgets.things.io}", "{}", "metadata.name is missing"},
		{"group: things.io", "", "spec.group is missing"},
		{"plural: gadgets, ", "", "spec.names.plural or spec.names.kind is missing"},
		{"scope: Cluster", "scope: Galaxy", `spec.scope is "Galaxy": want Namespaced or Cluster`},
		{"served: true", "served: perhaps", "reading CustomResourceDefinition: "},
	} {
		_, err := replay.BuiltinResources(37).WithCRD(decodeYAML(t, strings.ReplaceAll(gadgets, c.old, c.new)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: error %v, want %q", c.new, c.old, err, c.want)
		}
	}
}

func TestDiscoveryTellsWhatIsServed(t *testing.T) {
	r := mustResources(replay.BuiltinResources(37).WithDiscovery(decodeYAML(t, `
kind: APIGroupDiscoveryList
apiVersion: apidiscovery.k8s.io/v2beta1
items:
- metadata: {name: certificates.k8s.io}
  versions:
  - version: v1
    freshness: Current
    resources: [{resource: certificatesigningrequests, scope: Cluster, responseKind: {kind: CertificateSigningRequest}}]
  - version: v1beta1
    resources: [{resource: clustertrustbundles, scope: Cluster, responseKind: {kind: ClusterTrustBundle}}]
  - version: v2
    resources:
    - resource: fingerprints
      scope: Namespaced
      responseKind: {kind: Fingerprint}
      subresources: [{subresource: scale, responseKind: {group: autoscaling, version: v1, kind: Scale}}]
- metadata: {name: storage.k8s.io}
  versions: [{version: v1, freshness: Stale}]
- metadata: {name: metrics.example.com}
  versions:
  - version: v1
    resources: [{resource: figures, scope: Namespaced, responseKind: {kind: Figure}, subresources: [{subresource: status, responseKind: {kind: Figure}}]}]
`)))(t)
	for gv, resources := range map[string]map[string]bool{
		"certificates.k8s.io/v1":       {"certificatesigningrequests": true, "podcertificaterequests": false},
		"certificates.k8s.io/v1beta1":  {"clustertrustbundles": true, "podcertificaterequests": false},
		"certificates.k8s.io/v1alpha1": {"clustertrustbundles": false},
		"certificates.k8s.io/v2":       {"fingerprints": true},
		"storage.k8s.io/v1":            {"storageclasses": true},
		"apps/v1":                      {"deployments": true},
		"metrics.example.com/v1":       {"figures": true},
	} {
		for name, want := range resources {
			if got := r.Served(gvrOf(t, gv, name)); got != want {
				t.Errorf("Served(%s %s) = %v", gv, name, got)
			}
		}
	}
	if got, _ := r.Kind(gvrOf(t, "certificates.k8s.io/v2", "fingerprints"), "scale"); got != gvkOf(t, "autoscaling/v1", "Scale") {
		t.Errorf("fingerprints/scale is %v", got)
	}
	// What is not served is still known: an object of it may stand in a log.
	if _, ok := r.Kind(gvrOf(t, "certificates.k8s.io/v1", "podcertificaterequests"), "status"); !ok {
		t.Error("podcertificaterequests/status is not known any more")
	}
	if _, custom := r.Custom(gvrOf(t, "certificates.k8s.io/v2", "fingerprints")); custom {
		t.Error("a new version of a built-in group is custom")
	}
	if strategy, custom := r.Custom(gvrOf(t, "metrics.example.com/v1", "figures")); !custom || strategy != "" {
		t.Errorf("a resource known from discovery only: Custom = %q, %v", strategy, custom)
	}
}

func TestResourceList(t *testing.T) {
	r := mustResources(replay.BuiltinResources(37).WithCRD(decodeYAML(t, gadgets)))(t)
	r = mustResources(r.WithDiscovery(decodeYAML(t, `
kind: APIResourceList
groupVersion: v1
resources:
- {name: pods/eviction, namespaced: true, group: policy, version: v1, kind: Eviction}
- {name: pods, namespaced: true, kind: Pod}
- {name: moons, namespaced: false, kind: Moon}
`)))(t)
	if got, _ := r.Kind(gvrOf(t, "v1", "pods"), "eviction"); got != gvkOf(t, "policy/v1", "Eviction") {
		t.Errorf("pods/eviction is %v", got)
	}
	if _, ok := r.Kind(gvrOf(t, "v1", "pods"), "exec"); ok {
		t.Error("pods/exec is not in the list")
	}
	if gvr, namespaced, ok := r.Resource(gvkOf(t, "v1", "Moon")); !ok || namespaced || gvr != gvrOf(t, "v1", "moons") {
		t.Errorf("Moon: %v, %v, %v", gvr, namespaced, ok)
	}
	if r.Served(gvrOf(t, "v1", "secrets")) || !r.Served(gvrOf(t, "events.k8s.io/v1", "events")) {
		t.Error("the list is all of v1, and of v1 only")
	}
	// A definition knows more than discovery.
	r = mustResources(r.WithDiscovery(decodeYAML(t, `{kind: APIResourceList, apiVersion: v1, groupVersion: things.io/v1, resources: [{name: gadgets, namespaced: true, kind: Gizmo}]}`)))(t)
	if strategy, _ := r.Custom(gvrOf(t, "things.io/v1", "gadgets")); strategy != "Webhook" {
		t.Errorf("discovery took the conversion strategy away: %q", strategy)
	}
}

func TestWithDiscoveryRefuses(t *testing.T) {
	for document, want := range map[string]string{
		`{}`: "is no discovery document: want",
		`{kind: APIGroupDiscoveryList, apiVersion: v1}`:                                                                            "is no discovery document",
		`{kind: APIGroupList, apiVersion: v1}`:                                                                                     "is no discovery document",
		`{kind: APIGroupDiscoveryList, apiVersion: apidiscovery.k8s.io/v2, items: 7}`:                                              "reading APIGroupDiscoveryList: ",
		`{kind: APIGroupDiscoveryList, apiVersion: apidiscovery.k8s.io/v2, items: [{versions: [{}]}]}`:                             `items[0]: group "": a version has no name`,
		`{kind: APIGroupDiscoveryList, apiVersion: apidiscovery.k8s.io/v2, items: [{versions: [{version: v1, resources: [{}]}]}]}`: "version v1: a resource has no name",
		`{kind: APIResourceList, apiVersion: v1, groupVersion: a/b/c}`:                                                             "reading APIResourceList: unexpected GroupVersion string: a/b/c",
		`{kind: APIResourceList, apiVersion: v1}`:                                                                                  "groupVersion is missing",
		`{kind: APIResourceList, apiVersion: v1, groupVersion: v1, resources: [{kind: Pod}]}`:                                      "a resource has no name",
	} {
		if _, err := replay.BuiltinResources(37).WithDiscovery(decodeYAML(t, document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", document, err, want)
		}
	}
}

func FuzzWithCRDAndDiscovery(f *testing.F) {
	f.Add(gadgets)
	f.Add(`{kind: APIResourceList, groupVersion: v1, resources: [{name: pods/eviction, kind: Eviction}]}`)
	f.Add(`{kind: APIGroupDiscoveryList, apiVersion: apidiscovery.k8s.io/v2, items: [{metadata: {name: apps}, versions: [{version: v1}]}]}`)
	builtin := replay.BuiltinResources(37)
	f.Fuzz(func(t *testing.T, document string) {
		content, err := parseYAML(document)
		if err != nil {
			t.Skip()
		}
		if r, err := builtin.WithCRD(content); err == nil {
			metadata, _ := content["metadata"].(map[string]any)
			name, _ := metadata["name"].(string)
			if !r.WithoutCRD(name).Served(gvrOf(t, "v1", "pods")) {
				t.Error("a custom resource took pods away")
			}
		}
		_, _ = builtin.WithDiscovery(content)
	})
}

func BenchmarkKind(b *testing.B) {
	r := replay.BuiltinResources(37)
	gvr, _, _ := r.Resource(gvkOf(b, "apps/v1", "Deployment"))
	b.ReportAllocs()
	for b.Loop() {
		r.Kind(gvr, "status")
	}
}

func BenchmarkWithCRD(b *testing.B) {
	r := replay.BuiltinResources(37)
	content, err := parseYAML(gadgets)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.WithCRD(content); err != nil {
			b.Fatal(err)
		}
	}
}
