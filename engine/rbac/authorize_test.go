package rbac_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/engine/rbac"
)

const shop = `
{kind: ClusterRole, metadata: {name: reader}, rules: [{verbs: [get, list], apiGroups: ["", apps], resources: [pods, "*/scale", "odd/*"]}]}
---
{kind: ClusterRole, metadata: {name: named}, rules: [{verbs: [update], apiGroups: ["*"], resources: [configmaps, pods/status], resourceNames: [one, ""]}]}
---
{kind: ClusterRole, metadata: {name: all}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}
---
{kind: ClusterRole, metadata: {name: paths}, rules: [{verbs: [get], nonResourceURLs: [/healthz, "/admin/*", "/x**"]}]}
---
{kind: Role, metadata: {namespace: shop, name: writer}, rules: [{verbs: [create], apiGroups: [""], resources: [pods]}]}
---
{kind: ClusterRoleBinding, metadata: {name: readers}, roleRef: {kind: ClusterRole, name: reader}, subjects: [{kind: Group, name: dev}, {kind: User, name: alice}]}
---
{kind: ClusterRoleBinding, metadata: {name: a-readers}, roleRef: {kind: ClusterRole, name: reader}, subjects: [{kind: User, name: both}]}
---
{kind: ClusterRoleBinding, metadata: {name: b-readers}, roleRef: {kind: ClusterRole, name: reader}, subjects: [{kind: User, name: both}]}
---
{kind: ClusterRoleBinding, metadata: {name: named}, roleRef: {kind: ClusterRole, name: named}, subjects: [{kind: User, name: nora}]}
---
{kind: ClusterRoleBinding, metadata: {name: paths}, roleRef: {kind: ClusterRole, name: paths}, subjects: [{kind: Group, name: "system:authenticated"}]}
---
{kind: ClusterRoleBinding, metadata: {name: robots}, roleRef: {kind: ClusterRole, name: all}, subjects: [{kind: ServiceAccount, namespace: ci, name: robot}, {kind: ServiceAccount, name: homeless}]}
---
{kind: ClusterRoleBinding, metadata: {name: z-lost}, roleRef: {kind: ClusterRole, name: nowhere}, subjects: [{kind: User, name: lost}]}
---
{kind: ClusterRoleBinding, metadata: {name: z-odd}, roleRef: {kind: Group, name: reader}, subjects: [{kind: User, name: lost}]}
---
{kind: RoleBinding, metadata: {namespace: shop, name: writers}, roleRef: {kind: Role, name: writer}, subjects: [{kind: ServiceAccount, name: deployer}, {kind: ServiceAccount, namespace: ci, name: far}]}
---
{kind: RoleBinding, metadata: {namespace: shop, name: local}, roleRef: {kind: ClusterRole, name: all}, subjects: [{kind: User, name: both}]}
---
{kind: RoleBinding, metadata: {namespace: shop, name: lost}, roleRef: {kind: Role, name: gone}, subjects: [{kind: User, name: "system:serviceaccount:shop:deployer"}, {kind: User, name: lost}]}
`

func TestAuthorize(t *testing.T) {
	snapshot := load(t, shop)
	const byReaders = `RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "dev"`
	for _, c := range []struct {
		who, verb, what string // what is [NAMESPACE:]RESOURCE[.GROUP][/SUBRESOURCE][=NAME], or a path
		allowed         bool
		reason          string
	}{
		{"bob,dev", "get", "pods", true, byReaders},
		{"bob,dev", "get", "anywhere:pods=p", true, byReaders},
		{"bob,dev", "get", "deployments.apps", false, ""},
		{"bob,dev", "get", "deployments.apps/scale", true, byReaders},
		{"bob,dev", "get", "deployments.extensions/scale", false, ""},
		{"bob,dev", "create", "pods", false, ""},
		{"bob,dev", "get", "pods/status", false, ""},
		{"bob,dev", "get", "odd/status", false, ""},
		{"bob,dev", "get", "odd/*", true, byReaders},
		{"bob,team", "get", "pods", false, ""},
		// The first subject that the user is, in the order of the binding.
		{"alice,dev", "get", "pods", true, byReaders},
		{"alice,team", "get", "pods", true, `RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to User "alice"`},
		// The cluster's bindings first, by name.
		{"both", "list", "shop:pods", true, `RBAC: allowed by ClusterRoleBinding "a-readers" of ClusterRole "reader" to User "both"`},
		{"both", "create", "shop:secrets", true, `RBAC: allowed by RoleBinding "local/shop" of ClusterRole "all" to User "both"`},
		{"both", "create", "other:secrets", false, ""},
		{"both", "create", "secrets", false, ""},
		{"nora", "update", "x:configmaps.any=one", true, `RBAC: allowed by ClusterRoleBinding "named" of ClusterRole "named" to User "nora"`},
		{"nora", "update", "x:configmaps=two", false, ""},
		{"nora", "update", "x:configmaps", true, `RBAC: allowed by ClusterRoleBinding "named" of ClusterRole "named" to User "nora"`},
		{"nora", "update", "x:pods/status=one", true, `RBAC: allowed by ClusterRoleBinding "named" of ClusterRole "named" to User "nora"`},
		{"nora", "update", "x:pods=one", false, ""},
		{"bob,system:authenticated", "get", "/healthz", true, `RBAC: allowed by ClusterRoleBinding "paths" of ClusterRole "paths" to Group "system:authenticated"`},
		{"bob,system:authenticated", "get", "/healthz/etcd", false, ""},
		{"bob,system:authenticated", "get", "/admin/x/y", true, `RBAC: allowed by ClusterRoleBinding "paths" of ClusterRole "paths" to Group "system:authenticated"`},
		{"bob,system:authenticated", "get", "/admin", false, ""},
		{"bob,system:authenticated", "get", "/xyz", true, `RBAC: allowed by ClusterRoleBinding "paths" of ClusterRole "paths" to Group "system:authenticated"`},
		{"bob,system:authenticated", "post", "/healthz", false, ""},
		{"system:serviceaccount:ci:robot", "get", "/healthz", false, ""},
		{"system:serviceaccount:ci:robot", "explode", "a:moons.space/far", true, `RBAC: allowed by ClusterRoleBinding "robots" of ClusterRole "all" to ServiceAccount "robot/ci"`},
		{"system:serviceaccount:ci:homeless", "get", "pods", false, ""},
		{"system:serviceaccount::homeless", "get", "pods", false, ""},
		// A subject without a namespace is of the binding's.
		{"system:serviceaccount:shop:deployer", "create", "shop:pods", true, `RBAC: allowed by RoleBinding "writers/shop" of Role "writer" to ServiceAccount "deployer/shop"`},
		{"system:serviceaccount:ci:far", "create", "shop:pods", true, `RBAC: allowed by RoleBinding "writers/shop" of Role "writer" to ServiceAccount "far/ci"`},
		{"system:serviceaccount:ci:deployer", "create", "shop:pods", false, ""},
		// What could not be resolved on the way, once each, in order.
		{"system:serviceaccount:shop:deployer", "delete", "shop:pods", false, `rbac: RBAC: role.rbac.authorization.k8s.io "gone" not found`},
		{"lost", "get", "pods", false, `rbac: RBAC: [clusterrole.rbac.authorization.k8s.io "nowhere" not found, unsupported role reference kind: "Group"]`},
		{"lost", "get", "shop:pods", false, `rbac: RBAC: [clusterrole.rbac.authorization.k8s.io "nowhere" not found, unsupported role reference kind: "Group", role.rbac.authorization.k8s.io "gone" not found]`},
		{"root,system:masters", "explode", "/anything", true, ""},
	} {
		decision, reason, err := snapshot.Authorize(context.Background(), attributes(c.who, c.verb, c.what))
		want := authorizer.DecisionNoOpinion
		if c.allowed {
			want = authorizer.DecisionAllow
		}
		if decision != want || reason != c.reason || err != nil {
			t.Errorf("%s %s %s: %v, %q, %v; want %v, %q", c.who, c.verb, c.what, decision, reason, err, want, c.reason)
		}
	}
}

func TestReasonsBefore137(t *testing.T) {
	for minor, want := range map[int]string{
		36: `RBAC: role.rbac.authorization.k8s.io "gone" not found`,
		37: `rbac: RBAC: role.rbac.authorization.k8s.io "gone" not found`,
	} {
		snapshot := load(t, shop).AsOf(minor)
		_, reason, _ := snapshot.Authorize(context.Background(), attributes("system:serviceaccount:shop:deployer", "delete", "shop:pods"))
		if reason != want {
			t.Errorf("1.%d: %q, want %q", minor, reason, want)
		}
	}
}

func TestUnknown(t *testing.T) {
	const kubelet = "system:node:n1,system:nodes,system:authenticated"
	bound := load(t, shop+`
---
{kind: ClusterRoleBinding, metadata: {name: nodes}, roleRef: {kind: ClusterRole, name: reader}, subjects: [{kind: Group, name: "system:nodes"}]}
`)
	for _, c := range []struct {
		name            string
		snapshot        *rbac.Snapshot
		who, verb, what string
		because         string // empty where the answer is known
		allowed         bool
	}{
		{"nothing supplied", rbac.New(), "alice,dev", "get", "pods", rbac.NoRBAC, false},
		{"nothing supplied", rbac.New(), kubelet, "get", "pods", rbac.NoRBAC, false},
		{"nothing supplied", rbac.New(), "root,system:masters", "get", "pods", "", true},
		{"all taken away again", load(t, `{kind: ClusterRole, metadata: {name: a}}`).Without("ClusterRole", "", "a"), "alice,dev", "get", "pods", "", false},
		{"a node", bound, kubelet, "patch", "pods/status=p", rbac.NodeAuthorizer, false},
		{"a node that RBAC allows", bound, kubelet, "get", "pods=p", "", true},
		{"a verb that no node has", bound, kubelet, "breakglass", "shop:deployments.apps", "", false},
		{"the same on what has reasons of its own", bound, kubelet, "breakglass", "shop:secrets", rbac.NodeAuthorizer, false},
		{"a path", bound, kubelet, "get", "/nothing", "", false},
		{"a node without a name", bound, "system:node:,system:nodes", "get", "/nothing", rbac.NodeAuthorizer, false},
		{"the name alone makes no node", bound, "system:node:n1", "patch", "pods/status=p", "", false},
		{"nor does the group", bound, "n1,system:nodes", "patch", "pods/status=p", "", false},
	} {
		decision, _, err := c.snapshot.Authorize(context.Background(), attributes(c.who, c.verb, c.what))
		var unknown rbac.ErrUnknown
		if errors.As(err, &unknown) != (c.because != "") || unknown.Because != c.because {
			t.Errorf("%s: %s %s %s: error %v, want %q", c.name, c.who, c.verb, c.what, err, c.because)
		}
		if (decision == authorizer.DecisionAllow) != c.allowed {
			t.Errorf("%s: %s %s %s: %v", c.name, c.who, c.verb, c.what, decision)
		}
	}
	if _, _, err := bound.Authorize(context.Background(), authorizer.AttributesRecord{}); err == nil {
		t.Error("no error without a user")
	}
}

func TestAggregation(t *testing.T) {
	const roles = `
{kind: ClusterRole, metadata: {name: admin}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {to-admin: "yes"}}]}, rules: RULES}
---
{kind: ClusterRole, metadata: {name: edit, labels: {to-admin: "yes"}}, aggregationRule: {clusterRoleSelectors: [{matchExpressions: [{key: to-edit, operator: Exists}]}]}}
---
{kind: ClusterRole, metadata: {name: circle, labels: {to-edit: ""}}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {to-admin: "yes"}}]}}
---
{kind: ClusterRole, metadata: {name: pods, labels: {to-edit: ""}}, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}
---
{kind: ClusterRoleBinding, metadata: {name: admins}, roleRef: {kind: ClusterRole, name: admin}, subjects: [{kind: User, name: alice}]}
`
	for rules, allowed := range map[string]bool{
		"[]": true,
		// What the controller wrote counts, be it out of date.
		`[{verbs: [get], apiGroups: [""], resources: [nodes]}]`: false,
	} {
		snapshot := load(t, strings.ReplaceAll(roles, "RULES", rules))
		decision, reason, err := snapshot.Authorize(context.Background(), attributes("alice", "get", "pods"))
		if (decision == authorizer.DecisionAllow) != allowed || err != nil {
			t.Errorf("rules %s: %v, %q, %v", rules, decision, reason, err)
		}
		if decision, _, _ := snapshot.Authorize(context.Background(), attributes("alice", "get", "secrets")); decision == authorizer.DecisionAllow {
			t.Errorf("rules %s: secrets are allowed", rules)
		}
	}
}

func load(t testing.TB, documents string) *rbac.Snapshot {
	t.Helper()
	s := rbac.New()
	for document := range strings.SplitSeq(documents, "---\n") {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(document), &content); err != nil {
			t.Fatal(err)
		}
		content["apiVersion"] = "rbac.authorization.k8s.io/v1"
		s = with(t, s, content)
	}
	return s
}

// attributes reads a user with its groups, a verb, and [NAMESPACE:]RESOURCE[.GROUP][/SUBRESOURCE][=NAME] or a path.
func attributes(who, verb, what string) authorizer.AttributesRecord {
	name, groups, _ := strings.Cut(who, ",")
	a := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: name, Groups: strings.Split(groups, ",")}, Verb: verb}
	if strings.HasPrefix(what, "/") {
		a.Path = what
		return a
	}
	a.ResourceRequest = true
	if namespace, rest, ok := strings.Cut(what, ":"); ok {
		a.Namespace, what = namespace, rest
	}
	what, a.Name, _ = strings.Cut(what, "=")
	what, a.Subresource, _ = strings.Cut(what, "/")
	a.Resource, a.APIGroup, _ = strings.Cut(what, ".")
	return a
}
