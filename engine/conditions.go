package engine

import (
	"github.com/google/cel-go/common/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// matchConditions says whether the validations are to be looked at. One false condition skips the policy, whatever the
// others come to; otherwise an error counts as failurePolicy says. Conditions see no namespaceObject.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions
func (r *run) matchConditions() bool {
	if len(r.policy.matchConditions) == 0 {
		return true
	}
	act := r.activation(r.own, noNamespace, true)
	defer r.done(act)
	p := newPhase(r.policy, act, r.authz, celconfig.RuntimeCELCostBudgetMatchConditions)
	var errs []error
	var undecided *types.Unknown
	skip := false
	for _, m := range r.policy.matchConditions {
		o, err := p.eval(m.expression)
		if err != nil {
			// The budget ran out: what was found before does not count.
			errs, skip = []error{err}, false
			break
		}
		switch {
		case o.unknown != nil:
			undecided = types.MergeUnknowns(undecided, o.unknown)
		case o.err != nil:
			errs = append(errs, o.err)
		case o.value == types.False:
			skip = true
		}
	}
	switch {
	case skip:
		r.out.Result = Skipped
	case undecided != nil:
		r.out.Result = Unknown
		r.out.Unknown, r.out.Because = r.hangs(undecided)
	case len(errs) > 0 && !r.policy.failClosed:
		r.out.Result = Skipped
	case len(errs) == 1 && isBudget(errs[0]):
		r.fail(errs[0].Error())
	case len(errs) > 0:
		r.fail(utilerrors.NewAggregate(errs).Error())
	default:
		return true
	}
	return false
}

// fail makes the evaluation one error, which the apiserver reports for the first expression.
func (r *run) fail(message string) {
	r.out.Verdicts = []Verdict{{Result: Error, Message: message, Ignored: !r.policy.failClosed}}
}
