package engine_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/vapshadow/vapshadow/engine"
)

// TestExplain holds the explanations of all requests of testdata to the verdicts of Evaluate.
func TestExplain(t *testing.T) {
	eachRule(t, func(t *testing.T, _ string, data []byte) {
		e, f := explainable(t, string(data))
		world, err := f.world()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.requests {
			req, err := c.request.build(world)
			if err != nil {
				t.Fatal(err)
			}
			x := e.Explain(req)
			if want := e.Evaluate(req); !reflect.DeepEqual(want, x.Decision) {
				t.Errorf("request %q: explained %+v, evaluated %+v", c.name, x.Decision, want)
			}
			if err := consistent(x); err != nil {
				t.Errorf("request %q: %v", c.name, err)
			}
		}
	})
}

func explainable(t *testing.T, text string) (*engine.Engine, *ruleFile) {
	t.Helper()
	f, err := readRules([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{Minor: f.minor, Policies: f.policies, Bindings: f.bindings})
	if err != nil {
		t.Fatal(err)
	}
	return e, f
}

// consistent holds an explanation to its decision: each evaluation is told of once, its expressions came to what the
// verdicts say, and their costs add up.
func consistent(x engine.Explanation) error {
	var told []string
	for _, p := range x.Policies {
		for _, e := range p.Evaluations {
			told = append(told, outline(p.Policy, "", &e))
		}
		for _, b := range p.Bindings {
			for _, e := range b.Evaluations {
				told = append(told, outline(p.Policy, b.Binding, &e))
				for _, phase := range []*engine.ExplainedPhase{e.MatchConditions, e.Validations, e.MessageExpressions, e.AuditAnnotations} {
					if err := addsUp(phase); err != nil {
						return fmt.Errorf("%s, %s: %w", p.Policy, b.Binding, err)
					}
				}
				if err := sameResults(&e); err != nil {
					return fmt.Errorf("%s, %s: %w", p.Policy, b.Binding, err)
				}
			}
		}
	}
	var decided []string
	for _, e := range x.Decision.Evaluations {
		explained := engine.ExplainedEvaluation{
			Result: e.Result, Evidence: e.Evidence, Effect: e.Effect, BlocksAnyway: e.BlocksAnyway, ConfigError: e.ConfigError,
			AnnotationError: e.AnnotationError, Unknown: e.Unknown, Because: e.Because,
		}
		if e.Params != nil {
			explained.Params = &engine.ExplainedParams{Namespace: e.Params.Namespace, Name: e.Params.Name}
		}
		for _, v := range e.Verdicts {
			explained.Verdicts = append(explained.Verdicts, engine.ExplainedVerdict(v))
		}
		decided = append(decided, outline(e.Policy, e.Binding, &explained))
	}
	slices.Sort(told)
	slices.Sort(decided)
	if diff := cmp.Diff(decided, told); diff != "" {
		return fmt.Errorf("the decision (-) is not what is explained (+):\n%s", diff)
	}
	return nil
}

// outline is what of an explained evaluation the decision tells too.
func outline(policy, binding string, e *engine.ExplainedEvaluation) string {
	params := ""
	if e.Params != nil {
		params = e.Params.Namespace + "/" + e.Params.Name
	}
	return fmt.Sprintf("%s %s %s %s %s %s %t %q %q %q %s %+v", policy, binding, params, e.Result, e.Evidence, e.Effect, e.BlocksAnyway,
		e.ConfigError, e.AnnotationError, e.Unknown, e.Because, e.Verdicts)
}

// addsUp says whether the costs of a phase are what it took from its budget.
func addsUp(p *engine.ExplainedPhase) error {
	if p == nil || p.Ended != "" || p.Uncertain > 0 {
		return nil // What broke the budget, or was not known, has no cost of its own.
	}
	var sum int64
	for _, x := range p.Expressions {
		for _, e := range append(slices.Clone(x.Variables), x) {
			if e.Cost != nil {
				sum += *e.Cost
			}
		}
	}
	if sum != p.Budget-p.Left {
		return fmt.Errorf("costs add up to %d, but of %d there is %d left", sum, p.Budget, p.Left)
	}
	return nil
}

// sameResults says whether each validation has the result of its verdict, and passed where it has none.
func sameResults(e *engine.ExplainedEvaluation) error {
	if e.Validations == nil || e.Validations.Ended != "" || e.AuditAnnotations != nil && e.AuditAnnotations.Ended != "" {
		return nil
	}
	results := map[int]engine.Result{}
	for _, v := range e.Verdicts {
		results[v.ExpressionIndex] = v.Result
	}
	for i, x := range e.Validations.Expressions {
		want := results[i]
		if want == "" {
			want = engine.Pass
		}
		if x.Result != want && e.Result != engine.Unknown {
			return fmt.Errorf("validation %d is explained as %s, its verdict is %s", i, x.Result, want)
		}
	}
	return nil
}

const values = `Values are written as in CEL, and cut.
https://kubernetes.io/docs/reference/using-api/cel/
-- policy.yaml --
spec:
  variables:
  - {name: short, expression: "object.data.map(k, object.data[k])"}
  - {name: long, expression: "[1,2,3,4,5,6,7,8,9].map(i, ['abcdefghij', 'klmnopqrst', 'uvwxyz'])"}
  - {name: nested, expression: "{'b': dyn(variables.short), 'a': dyn(1.0), 'none': dyn(optional.none()), 'one': dyn(optional.of(1u))}"}
  - {name: unread, expression: "1"}
  - {name: size, expression: "quantity('1Gi')"}
  - {name: missing, expression: "object.data.nope"}
  matchConditions:
  - {name: named, expression: "object.metadata.name != ''"}
  validations:
  - {expression: "size(variables.nested) == 4 && size(variables.long) > 1"}
  - {expression: "variables.size.isGreaterThan(quantity('2Gi'))", messageExpression: "'at least ' + string(2)"}
  - {expression: "variables.missing == 'x'"}
-- request.yaml --
object: {apiVersion: v1, kind: %s, metadata: {name: a, namespace: default}, data: {k: "djE="}}
-- want --
`

// TestExplainValues shows how variables and values are written, for an object that may be shown and one that may not.
func TestExplainValues(t *testing.T) {
	tests := map[string][]string{
		"ConfigMap": {
			`named = true`,
			`short = ["djE="]`,
			`nested = {"a": 1.0, "b": ["djE="], "none": optional.none(), "one": optional.of(1u)}`,
			`long = [` + strings.Repeat(`["abcdefghij", "klmnopqrst", "uvwxyz"], `, 5)[:199] + "…",
			`0 = true`,
			`size = quantity("1Gi")`,
			`1 = false`,
			`missing ! composited`,
			`2 ! expression`,
			`1 = "at least 2"`,
		},
		"Secret": {
			`named = true`,
			`short = (masked), 1 entries`,
			`nested = (masked), 4 entries`,
			`long = (masked), 9 entries`,
			`0 = true`,
			`size = (masked)`,
			`1 = false`,
			`missing ! (masked)`,
			`2 ! (masked)`,
			`1 = (masked), 10 bytes`,
		},
	}
	for kind, want := range tests {
		t.Run(kind, func(t *testing.T) {
			x := explainFirst(t, fmt.Sprintf(values, kind))
			got := valuesOf(&x.Policies[0].Bindings[0].Evaluations[0])
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			out, err := json.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			if shown := strings.Contains(string(out), "djE="); shown == (kind == "Secret") {
				t.Errorf("the data of a %s is shown: %t", kind, shown)
			}
		})
	}
}

func valuesOf(e *engine.ExplainedEvaluation) []string {
	var out []string
	add := func(x *engine.ExplainedExpression) {
		name := x.Name
		if x.Index != nil {
			name = fmt.Sprint(*x.Index)
		}
		if x.Error != "" {
			word, _, _ := strings.Cut(x.Error, " ")
			out = append(out, name+" ! "+word)
		} else if !x.NotEvaluated {
			out = append(out, name+" = "+x.Value)
		}
	}
	for _, p := range []*engine.ExplainedPhase{e.MatchConditions, e.Validations, e.MessageExpressions} {
		for i := range p.Expressions {
			for j := range p.Expressions[i].Variables {
				add(&p.Expressions[i].Variables[j])
			}
			add(&p.Expressions[i])
		}
	}
	return out
}

const token = `An issued token is not shown.
https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/
-- policy.yaml --
spec:
  validations:
  - {expression: "object.status.token != ''", messageExpression: "object.status.token"}
-- request.yaml --
resource: v1/serviceaccounts
subResource: token
object: {apiVersion: authentication.k8s.io/v1, kind: TokenRequest, metadata: {name: a, namespace: default}, status: {token: eyJhbGci}}
-- want --
`

func TestExplainMasksTokens(t *testing.T) {
	x := explainFirst(t, token)
	want := map[string]any{"token": engine.Mask}
	if diff := cmp.Diff(want, x.Object["status"]); diff != "" {
		t.Error(diff)
	}
}

func explainFirst(t *testing.T, text string) engine.Explanation {
	t.Helper()
	e, f := explainable(t, text)
	world, err := f.world()
	if err != nil {
		t.Fatal(err)
	}
	req, err := f.requests[0].request.build(world)
	if err != nil {
		t.Fatal(err)
	}
	return e.Explain(req)
}

const changing = `A policy that is being written is explained as it was before and after.
https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
-- policy.yaml --
metadata: {name: written}
spec: {validations: [{expression: "false"}]}
---
metadata: {name: kept}
spec: {validations: [{expression: "false"}]}
-- request.yaml --
object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
-- want --
`

func TestExplainChanging(t *testing.T) {
	e, f := explainable(t, changing)
	world, err := f.world()
	if err != nil {
		t.Fatal(err)
	}
	req, err := f.requests[0].request.build(world)
	if err != nil {
		t.Fatal(err)
	}
	written := f.policies[slices.IndexFunc(f.policies, func(p *admissionv1.ValidatingAdmissionPolicy) bool { return p.Name == "written" })].DeepCopy()
	written.Spec.Validations[0].Expression = "true"
	next, names, err := e.With(engine.Change{Policy: written})
	if err != nil || !slices.Equal(names, []string{"written"}) {
		t.Fatal(names, err)
	}
	touched := map[string]bool{"written": true}
	x := engine.ExplainChanging([]engine.Explanation{e.Explain(req), next.Explain(req)}, touched)
	want := engine.Changing([]engine.Decision{e.Evaluate(req), next.Evaluate(req)}, touched)
	if !reflect.DeepEqual(want, x.Decision) {
		t.Errorf("explained %+v, evaluated %+v", x.Decision, want)
	}
	var got []string
	for _, p := range x.Policies {
		state := "only"
		if p.State != nil {
			state = fmt.Sprint(*p.State)
		}
		got = append(got, fmt.Sprintf("%s %s %s", p.Policy, state, p.Bindings[0].Evaluations[0].Result))
	}
	if diff := cmp.Diff([]string{"kept only Fail", "written 0 Fail", "written 1 Pass"}, got); diff != "" {
		t.Error(diff)
	}
}
