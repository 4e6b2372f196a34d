package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/engine/policy"
)

const hashedRules = `https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
-- policy.yaml --
metadata: {name: p, labels: {team: a}}
spec: {paramKind: {apiVersion: v1, kind: KIND}, validations: [{expression: "params.metadata.name == 'other'"}]}
---
metadata: {name: b}
spec: {policyName: p, paramRef: {name: limits, parameterNotFoundAction: Deny}}
-- cluster.yaml --
{apiVersion: v1, kind: Namespace, metadata: {name: default, uid: n, resourceVersion: "1"}}
---
PARAMS
-- request.yaml --
object: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: default}}
-- want --
`

const limits = `{apiVersion: v1, kind: ConfigMap, metadata: {name: limits, namespace: default, uid: u, resourceVersion: "7"}, data: {max: "3"}}`

// hashed evaluates the one policy of hashedRules.
func hashed(t *testing.T, kind, params string) (*engine.Engine, engine.Evaluation) {
	t.Helper()
	f, err := readRules([]byte(strings.NewReplacer("KIND", kind, "PARAMS", params).Replace(hashedRules)))
	if err != nil {
		t.Fatal(err)
	}
	world, err := f.world()
	if err != nil {
		t.Fatal(err)
	}
	req, err := f.requests[0].request.build(world)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{Minor: f.minor, Policies: f.policies, Bindings: f.bindings})
	if err != nil {
		t.Fatal(err)
	}
	e.Evaluate(req) // The second time the hash of the params is remembered.
	d := e.Evaluate(req)
	if len(d.Evaluations) != 1 {
		t.Fatalf("%d evaluations", len(d.Evaluations))
	}
	return e, d.Evaluations[0]
}

func TestTexts(t *testing.T) {
	e, got := hashed(t, "ConfigMap", limits)
	texts := e.Texts()
	if len(texts) != 2 {
		t.Fatalf("got %v", texts)
	}
	for i, want := range []engine.Text{
		{Kind: "ValidatingAdmissionPolicy", Name: "p", Hash: got.PolicyHash},
		{Kind: "ValidatingAdmissionPolicyBinding", Name: "b", Hash: got.BindingHash},
	} {
		text := texts[i]
		var object map[string]any
		if err := json.Unmarshal([]byte(text.JSON), &object); err != nil {
			t.Fatal(err)
		}
		if object["kind"] != want.Kind || object["apiVersion"] != "admissionregistration.k8s.io/v1" || strings.Contains(text.JSON, "team") {
			t.Errorf("got %s", text.JSON)
		}
		text.JSON = ""
		if diff := cmp.Diff(want, text); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if got.PolicyHash == "" || got.BindingHash == "" || got.PolicyHash == got.BindingHash {
		t.Errorf("got %q and %q", got.PolicyHash, got.BindingHash)
	}
}

// TestParamsHash tells what changes a hash from what does not.
func TestParamsHash(t *testing.T) {
	_, first := hashed(t, "ConfigMap", limits)
	if len(first.ParamsHash) != 16 {
		t.Fatalf("got %q", first.ParamsHash)
	}
	for name, tt := range map[string]struct {
		params string
		same   bool
	}{
		"as a manifest":  {strings.Replace(limits, `, uid: u, resourceVersion: "7"`, "", 1), true},
		"a later write":  {strings.Replace(limits, `"7"`, `"8"`, 1), true},
		"another value":  {strings.Replace(limits, `"3"`, `"4"`, 1), false},
		"another label":  {strings.Replace(limits, "uid: u", "uid: u, labels: {a: b}", 1), false},
		"managed fields": {strings.Replace(limits, "uid: u", "uid: u, managedFields: [{manager: m}]", 1), true},
	} {
		if _, got := hashed(t, "ConfigMap", tt.params); (got.ParamsHash == first.ParamsHash) != tt.same || got.ParamsHash == "" {
			t.Errorf("%s: %q, before %q", name, got.ParamsHash, first.ParamsHash)
		}
	}
}

// TestParamsHashOfSecret: the hash says which state of a Secret it was, and nothing of what is in it.
func TestParamsHashOfSecret(t *testing.T) {
	secret := strings.Replace(limits, "ConfigMap", "Secret", 1)
	_, first := hashed(t, "Secret", secret)
	_, same := hashed(t, "Secret", strings.Replace(secret, `"3"`, `"4"`, 1))
	_, later := hashed(t, "Secret", strings.Replace(secret, `"7"`, `"8"`, 1))
	_, manifest := hashed(t, "Secret", strings.Replace(secret, `, uid: u, resourceVersion: "7"`, "", 1))
	if first.ParamsHash == "" || same.ParamsHash != first.ParamsHash || later.ParamsHash == first.ParamsHash || manifest.ParamsHash != "" {
		t.Errorf("%q, other data %q, later %q, as a manifest %q", first.ParamsHash, same.ParamsHash, later.ParamsHash, manifest.ParamsHash)
	}
}

// TestHashesWithoutParams: a configuration error names the states of the policy and the binding too.
func TestHashesWithoutParams(t *testing.T) {
	e, got := hashed(t, "ConfigMap", strings.Replace(limits, "name: limits", "name: elsewhere", 1))
	if got.ConfigError == "" || got.PolicyHash != e.Texts()[0].Hash || got.BindingHash != e.Texts()[1].Hash || got.ParamsHash != "" {
		t.Errorf("got %+v", got)
	}
}

// TestHashesOfChanges: each state of a policy has a hash of its own, and where it is not known which decided, none is
// named.
func TestHashesOfChanges(t *testing.T) {
	e, before := hashed(t, "ConfigMap", limits)
	f, err := readRules([]byte(strings.NewReplacer("KIND", "ConfigMap", "PARAMS", limits, "'other'", "'another'").Replace(hashedRules)))
	if err != nil {
		t.Fatal(err)
	}
	world, err := f.world()
	if err != nil {
		t.Fatal(err)
	}
	req, err := f.requests[0].request.build(world)
	if err != nil {
		t.Fatal(err)
	}
	next, touched, err := e.With(engine.Change{Policy: f.policies[0]})
	if err != nil {
		t.Fatal(err)
	}
	after := next.Evaluate(req).Evaluations[0]
	if after.PolicyHash == before.PolicyHash || after.PolicyHash != policy.ContentHash(f.policies[0]) || after.BindingHash != before.BindingHash {
		t.Errorf("after %+v", after)
	}
	between := engine.Changing([]engine.Decision{e.Evaluate(req), next.Evaluate(req)}, map[string]bool{touched[0]: true}).Evaluations[0]
	if between.PolicyHash != "" || between.BindingHash != "" || between.ParamsHash != before.ParamsHash {
		t.Errorf("in between %+v", between)
	}
	hidden, _, err := e.With(engine.Change{Kind: "ValidatingAdmissionPolicy", Name: "p", Hidden: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := hidden.Evaluate(req).Evaluations[0]; got.PolicyHash != "" || got.BindingHash != "" {
		t.Errorf("hidden %+v", got)
	}
}
