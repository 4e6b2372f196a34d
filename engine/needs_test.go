package engine_test

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/engine"
)

// TestNeeds: what a policy hangs on of the objects before a request, by its rules and expressions alone.
func TestNeeds(t *testing.T) {
	const (
		both   = `{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}`
		create = `{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}`
	)
	for _, tt := range []struct {
		name              string
		rules, expression string
		more              string // of the policy's spec
		match             string // of the policy's matchConstraints
		group, resource   string
		want              bool
	}{
		{"oldObject", both, "oldObject == null", "", "", "apps", "deployments", true},
		{"object", both, "has(object.spec)", "", "", "apps", "deployments", true},
		{"another resource", both, "oldObject == null", "", "", "apps", "statefulsets", false},
		{"another group", both, "oldObject == null", "", "", "extensions", "deployments", false},
		{"neither object", both, "request.userInfo.username != ''", "", "", "apps", "deployments", false},
		{"the operation", both, "request.operation == 'CREATE'", "", "", "apps", "deployments", true},
		{"the operation, by another name", both, "[request].exists(r, r.operation == 'CREATE')", "", "", "apps", "deployments", true},
		{"the options", both, "has(request.options)", "", "", "apps", "deployments", true},
		{"the operation in the rules", create, "request.userInfo.username != ''", "", "", "apps", "deployments", true},
		{"the operation in the excludes", both, "true", "", "excludeResourceRules: [" + create + "]", "apps", "deployments", true},
		{"a variable", both, "variables.v", "variables: [{name: v, expression: oldObject == null}]", "", "apps", "deployments", true},
		{"a match condition", both, "true", "matchConditions: [{name: m, expression: oldObject == null}]", "", "apps", "deployments", true},
		{"an objectSelector", both, "true", "", "objectSelector: {matchLabels: {a: b}}", "apps", "deployments", true},
		{"a subresource", `{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments/scale]}`, "oldObject == null", "", "", "apps", "deployments", true},
		{"all subresources", `{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"]}`, "oldObject == null", "", "", "", "leases", true},
		{"events of the other group", `{apiGroups: [events.k8s.io], apiVersions: [v1], operations: ["*"], resources: [events]}`, "oldObject == null", "", "", "", "events", true},
		{"params", both, "params == null", "paramKind: {apiVersion: v1, kind: ConfigMap}", "", "", "configmaps", true},
		{"not params", both, "params == null", "paramKind: {apiVersion: v1, kind: ConfigMap}", "", "", "secrets", false},
		{"custom params", both, "params == null", "paramKind: {apiVersion: example.com/v1, kind: Limit}", "", "example.com", "limits", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &admissionv1.ValidatingAdmissionPolicy{}
			if tt.match == "" || tt.match[0] != 'o' {
				tt.match += "\n    objectSelector: {}"
			}
			text := "metadata: {name: p}\nspec:\n  failurePolicy: Fail\n  matchConstraints:\n    matchPolicy: Equivalent\n    namespaceSelector: {}\n    resourceRules: [" +
				tt.rules + "]\n    " + tt.match + "\n  validations: [{expression: \"" + tt.expression + "\"}]\n  " + tt.more + "\n"
			if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			e, err := engine.New(engine.Config{Minor: 37, Policies: []*admissionv1.ValidatingAdmissionPolicy{p}, Unbound: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Needs(tt.group, tt.resource); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// TestNeedsBound: a policy that nothing binds needs nothing, and a binding may match less than its policy.
func TestNeedsBound(t *testing.T) {
	policy, binding := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
	for text, into := range map[string]any{
		`{metadata: {name: p}, spec: {matchConstraints: {namespaceSelector: {}, objectSelector: {}, resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: ["*"]}]},
			validations: [{expression: "oldObject == null"}]}}`: policy,
		`{metadata: {name: b}, spec: {policyName: p, matchResources: {namespaceSelector: {}, objectSelector: {}, resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [pods]}]}}}`: binding,
	} {
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		bindings      []*admissionv1.ValidatingAdmissionPolicyBinding
		pods, secrets bool
	}{
		{nil, false, false},
		{[]*admissionv1.ValidatingAdmissionPolicyBinding{binding}, true, false},
	} {
		e, err := engine.New(engine.Config{Minor: 37, Policies: []*admissionv1.ValidatingAdmissionPolicy{policy}, Bindings: tt.bindings})
		if err != nil {
			t.Fatal(err)
		}
		if e.Needs("", "pods") != tt.pods || e.Needs("", "secrets") != tt.secrets {
			t.Errorf("%d bindings: pods %v, secrets %v", len(tt.bindings), e.Needs("", "pods"), e.Needs("", "secrets"))
		}
	}
}
