package engine

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/vapshadow/vapshadow/replay"
)

// Explanation tells how one admission request was rebuilt, and how each policy came to its verdict. The JSON names are
// stable: additions only. What is in a Secret is masked; messages and Annotations are as the apiserver would write them.
type Explanation struct {
	Request ExplainedRequest `json:"request"`
	// Inputs tells how each input is known.
	Inputs []ExplainedInput `json:"inputs"`
	// Object and OldObject are as admission saw them, as far as they are known.
	Object    map[string]any `json:"object,omitempty"`
	OldObject map[string]any `json:"oldObject,omitempty"`
	// Policies are those whose resourceRules could match, by name.
	Policies []ExplainedPolicy `json:"policies"`
	// Others are the policies that were not looked at, by name.
	Others      []OtherPolicy     `json:"otherPolicies,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`

	// Decision is what Evaluate says of the request.
	Decision Decision `json:"-"`
}

// OtherPolicy is a policy that was not looked at: Because is "resourceRules" where they name no such resource or
// operation, "Unbound" where no binding names the policy.
type OtherPolicy struct {
	Policy  string `json:"policy"`
	Because string `json:"because"`
}

// Unbound says that no binding names the policy.
const Unbound = "Unbound"

// ExplainedPolicy is one policy on a request.
type ExplainedPolicy struct {
	Policy        string         `json:"policy"`
	FailurePolicy string         `json:"failurePolicy"`
	ParamKind     *Kind          `json:"paramKind,omitempty"`
	Match         ExplainedMatch `json:"match"`
	// State is set where the policy was being written: 0 is the policy as it was before, 1 after the first write and so
	// on. The verdict is Unknown then.
	State *int `json:"state,omitempty"`
	// Evaluations are those that belong to no binding: the policy cannot be evaluated at all.
	Evaluations []ExplainedEvaluation `json:"evaluations,omitempty"`
	Bindings    []ExplainedBinding    `json:"bindings,omitempty"`
}

// ExplainedMatch says whether matchConstraints or matchResources match.
type ExplainedMatch struct {
	// Result is Yes, No, Unknown or Error.
	Result string `json:"result"`
	// By is the part that the answer is due to: namespaceSelector, objectSelector, excludeResourceRules, resourceRules.
	By string `json:"by,omitempty"`
	// Rule is the index of the rule that matched, of resourceRules or excludeResourceRules.
	Rule *int `json:"rule,omitempty"`
	// As is the equivalent resource as which the request matched; nil for its own.
	As *ExplainedTarget `json:"as,omitempty"`
	// Detail says it in words.
	Detail  string        `json:"detail,omitempty"`
	Unknown []string      `json:"unknown,omitempty"`
	Because replay.Reason `json:"because,omitempty"`
}

// ExplainedTarget is a resource and its kind.
type ExplainedTarget struct {
	Resource Resource `json:"resource"`
	Kind     Kind     `json:"kind"`
}

// ExplainedBinding is one binding of a policy that matches.
type ExplainedBinding struct {
	Binding           string         `json:"binding"`
	ValidationActions []string       `json:"validationActions"`
	Match             ExplainedMatch `json:"match"`
	// Params is how many objects paramRef found; nil where there is no paramRef, or they are not known.
	Params      *int                  `json:"paramsFound,omitempty"`
	Evaluations []ExplainedEvaluation `json:"evaluations,omitempty"`
}

// ExplainedEvaluation is one (policy, binding, params).
type ExplainedEvaluation struct {
	Params *ExplainedParams `json:"params,omitempty"`
	Result Result           `json:"result"`
	// Evidence is the weakest of the inputs that were read.
	Evidence replay.Level `json:"evidence"`
	// Effect is what the apiserver would have done; EffectIfDeny what it would do were the binding set to [Deny], Unknown
	// where that is not known.
	Effect          string             `json:"effect,omitempty"`
	EffectIfDeny    string             `json:"effectIfDeny,omitempty"`
	BlocksAnyway    bool               `json:"blocksAnyway,omitempty"`
	ConfigError     string             `json:"configError,omitempty"`
	AnnotationError string             `json:"annotationError,omitempty"`
	Unknown         []string           `json:"unknown,omitempty"`
	Because         replay.Reason      `json:"because,omitempty"`
	Verdicts        []ExplainedVerdict `json:"verdicts,omitempty"`

	// The expressions in the order of evaluation, each phase with a cost budget of its own.
	MatchConditions    *ExplainedPhase `json:"matchConditions,omitempty"`
	Validations        *ExplainedPhase `json:"validations,omitempty"`
	MessageExpressions *ExplainedPhase `json:"messageExpressions,omitempty"`
	AuditAnnotations   *ExplainedPhase `json:"auditAnnotations,omitempty"`
}

// ExplainedParams is a params object, or the one that paramRef names where it is not known.
type ExplainedParams struct {
	Namespace string             `json:"namespace,omitempty"`
	Name      string             `json:"name"`
	Level     replay.Level       `json:"level"`
	Because   replay.Reason      `json:"because,omitempty"`
	Unknown   []ExplainedUnknown `json:"unknown,omitempty"`
}

// ExplainedVerdict is the verdict on a validation that did not pass.
type ExplainedVerdict struct {
	ExpressionIndex int           `json:"expressionIndex"`
	Result          Result        `json:"result"`
	Message         string        `json:"message,omitempty"`
	Reason          string        `json:"reason,omitempty"`
	Ignored         bool          `json:"ignored,omitempty"`
	Unknown         []string      `json:"unknown,omitempty"`
	Because         replay.Reason `json:"because,omitempty"`
	Repeats         bool          `json:"repeats,omitempty"`
}

// Explain evaluates what Evaluate does, and tells how.
func (e *Engine) Explain(req *replay.Request) Explanation {
	t := &trace{}
	d := e.decide(req, t)
	x := Explanation{
		Request: explainRequest(req), Inputs: explainInputs(newScope(e, req)),
		Object: masked(req.Object.Content, req), OldObject: masked(req.OldObject.Content, req),
		Policies: []ExplainedPolicy{}, Annotations: d.Annotations, Decision: d,
	}
	looked := map[string]bool{}
	for _, p := range t.policies {
		looked[p.policy.policy.Name] = true
		x.Policies = append(x.Policies, p.explain(req, d))
	}
	x.Others = e.others(looked)
	return x
}

// others are the policies that were not looked at.
func (e *Engine) others(looked map[string]bool) []OtherPolicy {
	bound := map[string]bool{}
	for _, c := range e.policies {
		bound[c.policy.Name] = true
	}
	var out []OtherPolicy
	for name := range e.all {
		switch {
		case looked[name]:
		case bound[name]:
			out = append(out, OtherPolicy{Policy: name, Because: byRules})
		default:
			out = append(out, OtherPolicy{Policy: name, Because: Unbound})
		}
	}
	sortByName(out, func(o OtherPolicy) string { return o.Policy })
	return out
}

func (p *policyTrace) explain(req *replay.Request, d Decision) ExplainedPolicy {
	c := p.policy
	out := ExplainedPolicy{Policy: c.policy.Name, FailurePolicy: string(admissionv1.Ignore), Match: c.constraints.explain(p.match, p.as, req)}
	if c.failClosed {
		out.FailurePolicy = string(admissionv1.Fail)
	}
	if k := c.policy.Spec.ParamKind; k != nil {
		kind := kindOf(k.APIVersion, k.Kind)
		out.ParamKind = &kind
	}
	out.Evaluations = explainEvaluations(d, c, nil)
	for _, b := range p.bindings {
		out.Bindings = append(out.Bindings, b.explain(c, req, d))
	}
	return out
}

func (b *bindingTrace) explain(c *compiled, req *replay.Request, d Decision) ExplainedBinding {
	out := ExplainedBinding{Binding: b.binding.binding.Name, ValidationActions: b.binding.acts, Match: ExplainedMatch{Result: answerNames[yes]}}
	if b.binding.constraints != nil {
		out.Match = b.binding.constraints.explain(b.match, target{resource: req.Resource, kind: req.Kind}, req)
	}
	if f := b.found; f != nil && f.err == nil && f.unknown == "" && c.policy.Spec.ParamKind != nil && b.binding.binding.Spec.ParamRef != nil {
		n := len(f.params)
		out.Params = &n
	}
	out.Evaluations = explainEvaluations(d, c, b)
	return out
}

// explainEvaluations tells of the evaluations of a binding, or of those that belong to none.
func explainEvaluations(d Decision, c *compiled, b *bindingTrace) []ExplainedEvaluation {
	var out []ExplainedEvaluation
	for i := range d.Evaluations {
		e := &d.Evaluations[i]
		switch {
		case e.Policy != c.policy.Name:
		case b == nil && e.Binding == "":
			out = append(out, explainEvaluation(e, nil))
		case b != nil && e.Binding == b.binding.binding.Name:
			out = append(out, explainEvaluation(e, b.of(e)))
		}
	}
	return out
}

// ExplainChanging joins the explanations by each of several states of the policies, as Changing joins their decisions.
func ExplainChanging(states []Explanation, touched map[string]bool) Explanation {
	decisions := make([]Decision, len(states))
	for i, x := range states {
		decisions[i] = x.Decision
	}
	out := states[0]
	out.Decision = Changing(decisions, touched)
	out.Annotations = out.Decision.Annotations
	out.Policies = []ExplainedPolicy{}
	for i, x := range states {
		for _, p := range x.Policies {
			if touched[p.Policy] {
				p.State = &i
			} else if i > 0 {
				continue
			}
			out.Policies = append(out.Policies, p)
		}
	}
	sortByName(out.Policies, func(p ExplainedPolicy) string { return p.Policy })
	out.Others = slices.DeleteFunc(slices.Clone(out.Others), func(o OtherPolicy) bool {
		return slices.ContainsFunc(out.Policies, func(p ExplainedPolicy) bool { return p.Policy == o.Policy })
	})
	return out
}
