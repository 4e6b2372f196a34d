package rbac_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/engine/rbac"
)

func TestSnapshotsDoNotChange(t *testing.T) {
	before := load(t, shop)
	after := before.Without("ClusterRoleBinding", "", "readers")
	after = with(t, after, object(t, `{kind: RoleBinding, metadata: {namespace: shop, name: local}, roleRef: {kind: ClusterRole, name: all}, subjects: [{kind: User, name: carol}]}`))
	for _, c := range []struct {
		who           string
		before, after bool
	}{{"bob,dev", true, false}, {"both", true, false}, {"carol", false, true}} {
		// both is bound by a ClusterRole to get pods in any case: secrets are in local only.
		what := "shop:secrets"
		if c.who == "bob,dev" {
			what = "shop:pods"
		}
		if allowed(before, c.who, "get", what) != c.before || allowed(after, c.who, "get", what) != c.after {
			t.Errorf("%s: before %v, after %v", c.who, allowed(before, c.who, "get", what), allowed(after, c.who, "get", what))
		}
	}
	for _, nothing := range []*rbac.Snapshot{
		before.Without("ClusterRoleBinding", "", "nobody"), before.Without("RoleBinding", "", "readers"), before.Without("Pod", "shop", "local"),
	} {
		if !allowed(nothing, "bob,dev", "get", "pods") {
			t.Error("taking away what is not there took something away")
		}
	}
}

// Whatever the order in which objects come, go and come again, the answers are those of the objects that are left.
func TestOnlyTheStateMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := map[string]map[string]any{}
		changed := rbac.New()
		for range rapid.IntRange(1, 60).Draw(t, "changes") {
			o := drawObject(t)
			metadata := o["metadata"].(map[string]any)
			id := fmt.Sprint(o["kind"], metadata["namespace"], metadata["name"])
			if rapid.Bool().Draw(t, "without") {
				delete(left, id)
				namespace, _ := metadata["namespace"].(string)
				changed = changed.Without(o["kind"].(string), namespace, metadata["name"].(string))
				continue
			}
			left[id] = o
			next, err := changed.With(o)
			if err != nil {
				t.Fatal(err)
			}
			changed = next
		}
		if len(left) == 0 {
			return
		}
		fresh := rbac.New()
		for _, o := range left {
			fresh, _ = fresh.With(o)
		}
		for _, who := range []string{"u0,g0", "u1,g1,g0", "system:serviceaccount:n0:u0"} {
			for _, verb := range []string{"v0", "v1"} {
				a := attributes(who, verb, "n0:pods")
				decision, reason, err := changed.Authorize(context.Background(), a)
				wantDecision, wantReason, wantErr := fresh.Authorize(context.Background(), a)
				if decision != wantDecision || reason != wantReason || err != wantErr {
					t.Fatalf("%s %s: %v, %q, %v; made anew: %v, %q, %v", who, verb, decision, reason, err, wantDecision, wantReason, wantErr)
				}
			}
		}
	})
}

func drawObject(t *rapid.T) map[string]any {
	draw := func(prefix string) string { return fmt.Sprint(prefix, rapid.IntRange(0, 1).Draw(t, prefix)) }
	kind := rapid.SampledFrom([]string{"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}).Draw(t, "kind")
	metadata := map[string]any{"name": draw("o")}
	if kind == "Role" || kind == "RoleBinding" {
		metadata["namespace"] = draw("n")
	}
	o := map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata}
	if !strings.HasSuffix(kind, "Binding") {
		o["rules"] = []any{map[string]any{"verbs": []any{draw("v")}, "apiGroups": []any{""}, "resources": []any{"pods"}}}
		return o
	}
	o["roleRef"] = map[string]any{"kind": rapid.SampledFrom([]string{"Role", "ClusterRole"}).Draw(t, "ref"), "name": draw("o")}
	o["subjects"] = []any{
		map[string]any{"kind": rapid.SampledFrom([]string{"User", "ServiceAccount"}).Draw(t, "subject"), "name": draw("u")},
		map[string]any{"kind": "Group", "name": draw("g")},
	}
	return o
}

func TestWithRefuses(t *testing.T) {
	for document, want := range map[string]string{
		`{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1beta1, metadata: {name: a}}`: "it is a rbac.authorization.k8s.io/v1beta1 ClusterRole: want a Role",
		`{kind: Pod, metadata: {name: a}}`:                   `reading Pod "/a": want a Role, ClusterRole, RoleBinding or ClusterRoleBinding`,
		`{kind: ClusterRole}`:                                "metadata.name is missing",
		`{kind: RoleBinding, metadata: {name: a}}`:           "metadata.namespace is missing",
		`{kind: ClusterRole, metadata: {name: a}, rules: 7}`: "reading RBAC object: ",
		`{kind: ClusterRole, metadata: {name: a}, aggregationRule: {clusterRoleSelectors: [{matchExpressions: [{key: a, operator: Maybe}]}]}}`: "aggregationRule.clusterRoleSelectors[0]: ",
	} {
		if _, err := rbac.New().With(object(t, document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", document, err, want)
		}
	}
}

func FuzzWith(f *testing.F) {
	for document := range strings.SplitSeq(shop, "---\n") {
		f.Add(document)
	}
	f.Fuzz(func(t *testing.T, document string) {
		var content map[string]any
		if yaml.Unmarshal([]byte(document), &content) != nil || content == nil {
			t.Skip()
		}
		content["apiVersion"] = "rbac.authorization.k8s.io/v1"
		s, err := rbac.New().With(content)
		if err != nil {
			return
		}
		if _, _, err := s.Authorize(context.Background(), attributes("alice,dev", "get", "shop:pods=p")); err != nil {
			t.Errorf("after With: %v", err)
		}
	})
}

func BenchmarkAuthorize(b *testing.B) {
	s := large(b)
	for name, a := range map[string]authorizer.AttributesRecord{
		"allowed":   attributes("u77,dev,system:authenticated", "get", "n5:pods"),
		"forbidden": attributes("u77,dev,system:authenticated", "breakglass", "n5:pods"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = s.Authorize(context.Background(), a)
			}
		})
	}
}

func BenchmarkWith(b *testing.B) {
	s := large(b)
	o := object(b, `{kind: RoleBinding, metadata: {namespace: n5, name: new}, roleRef: {kind: ClusterRole, name: r0}, subjects: [{kind: User, name: carol}]}`)
	b.ReportAllocs()
	for b.Loop() {
		with(b, s, o)
	}
}

// large is a cluster of 10,000 RoleBindings.
func large(b *testing.B) *rbac.Snapshot {
	s := load(b, `{kind: ClusterRole, metadata: {name: r0}, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}`)
	for i := range 10_000 {
		s = with(b, s, object(b, fmt.Sprintf(`{kind: RoleBinding, metadata: {namespace: n%d, name: b%d}, roleRef: {kind: ClusterRole, name: r0}, subjects: [{kind: User, name: u%d}]}`, i%100, i, i/100)))
	}
	return s
}

func allowed(s *rbac.Snapshot, who, verb, what string) bool {
	decision, _, _ := s.Authorize(context.Background(), attributes(who, verb, what))
	return decision == authorizer.DecisionAllow
}

func object(t testing.TB, document string) map[string]any {
	t.Helper()
	content := map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1"}
	if err := yaml.Unmarshal([]byte(document), &content); err != nil {
		t.Fatal(err)
	}
	return content
}
