package engine

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/vapshadow/vapshadow/replay"
)

// Reasons for an Unknown that are the engine's own, besides those of replay.
const (
	// CostUnknown: an earlier expression is unknown, and with it what is left of the cost budget.
	CostUnknown replay.Reason = "CostUnknown"
	// PolicyChanging: the policy or its binding was being written, and which of the two states decided is not known.
	PolicyChanging replay.Reason = "PolicyChanging"
	// PolicyNotShown: the policy or its binding was written, and the log does not show how.
	PolicyNotShown replay.Reason = "PolicyNotShown"
)

// Change is one write of a policy or a binding: one of the two is set, or both are nil and Kind and Name tell what was
// deleted, or was written in a way that nothing shows (Hidden).
type Change struct {
	Policy     *admissionv1.ValidatingAdmissionPolicy
	Binding    *admissionv1.ValidatingAdmissionPolicyBinding
	Kind, Name string
	Hidden     bool
}

// With returns an Engine with a change in effect, and the names of the policies that it touches: none where nothing
// changed that policies are evaluated by. Only what changed is compiled.
func (e *Engine) With(c Change) (*Engine, []string, error) {
	touched := e.touched(c)
	if len(touched) == 0 {
		return e, nil, nil
	}
	next := &Engine{
		minor: e.minor, unbound: e.unbound, envs: e.envs, memory: e.memory, criteria: e.criteria, rbac: e.rbac, hashes: e.hashes,
		hidden: maps.Clone(e.hidden), all: maps.Clone(e.all), bindings: maps.Clone(e.bindings),
	}
	for _, name := range touched {
		next.hidden[name] = c.Hidden
	}
	switch {
	case c.Policy != nil:
		next.all[c.Policy.Name] = c.Policy
	case c.Binding != nil:
		next.bindings[c.Binding.Name] = c.Binding
	case c.Hidden:
	case c.Kind == "ValidatingAdmissionPolicy":
		delete(next.all, c.Name)
	default:
		delete(next.bindings, c.Name)
	}
	return next, touched, next.assemble(e)
}

// touched names the policies that a change makes a difference to.
func (e *Engine) touched(c Change) []string {
	switch {
	case c.Policy != nil:
		if old := e.all[c.Policy.Name]; old != nil && !e.hidden[c.Policy.Name] && equality.Semantic.DeepEqual(old.Spec, c.Policy.Spec) {
			return nil
		}
		return []string{c.Policy.Name}
	case c.Binding != nil:
		old := e.bindings[c.Binding.Name]
		if old != nil && !e.hidden[old.Spec.PolicyName] && equality.Semantic.DeepEqual(old.Spec, c.Binding.Spec) {
			return nil
		}
		if old != nil && old.Spec.PolicyName != c.Binding.Spec.PolicyName {
			return []string{old.Spec.PolicyName, c.Binding.Spec.PolicyName}
		}
		return []string{c.Binding.Spec.PolicyName}
	case c.Kind == "ValidatingAdmissionPolicy":
		return []string{c.Name}
	default:
		if old := e.bindings[c.Name]; old != nil {
			return []string{old.Spec.PolicyName}
		}
		return nil
	}
}

// Changing joins what each of several states of the policies came to on one request. For the policies that differ
// between them it is not known which state decided.
func Changing(states []Decision, touched map[string]bool) Decision {
	var out []Evaluation
	for _, e := range states[0].Evaluations {
		if !touched[e.Policy] {
			out = append(out, e)
		}
	}
	var doubted []Evaluation
	for _, d := range states {
		for _, e := range d.Evaluations {
			if touched[e.Policy] && !containsSame(doubted, e) {
				doubted = append(doubted, e.doubtedPolicy(PolicyChanging))
			}
		}
	}
	out = append(out, doubted...)
	sortEvaluations(out)
	return Decision{Evaluations: out, Annotations: annotations(out)}
}
