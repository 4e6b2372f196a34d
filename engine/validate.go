package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

func isBudget(err error) bool {
	return errors.Is(err, apiservercel.ErrOutOfBudget) || errors.Is(err, apiservercel.ErrInternal)
}

// validate evaluates the validations, and the messages of those that fail. It is false where the budget did not suffice,
// upon which the apiserver does not look at the audit annotations.
func (r *run) validate() bool {
	act := r.activation(r.matched, namespaceFields, true)
	defer r.done(act)
	p := newPhase(r.policy, act, r.authz, celconfig.RuntimeCELCostBudget)
	outcomes := make([]outcome, len(r.policy.validations))
	for i, v := range r.policy.validations {
		o, err := p.eval(v.expression)
		if err != nil {
			r.policy.cost(celconfig.RuntimeCELCostBudget)
			r.fail(err.Error())
			return false
		}
		outcomes[i] = o
	}
	r.policy.cost(celconfig.RuntimeCELCostBudget - p.remaining)
	messages, messageErr := r.messagesFor(outcomes, p)
	for i, o := range outcomes {
		if v, ok := r.verdict(i, o, messages[i], messageErr); ok {
			r.out.Verdicts = append(r.out.Verdicts, v)
		}
	}
	return true
}

// verdict is the result of the i-th validation; ok is false where it passed.
func (r *run) verdict(i int, o, message outcome, messageErr error) (v Verdict, ok bool) {
	v = Verdict{ExpressionIndex: i}
	switch {
	case o.unknown != nil:
		v.Result = Unknown
		v.Unknown, v.Because = r.hangs(o.unknown)
	case o.err != nil:
		v.Result, v.Message, v.Ignored = Error, o.err.Error(), !r.policy.failClosed
	case messageErr != nil && isBudget(messageErr):
		v.Result, v.Message, v.Ignored = Error, fmt.Sprintf("failed messageExpression: %s", messageErr), !r.policy.failClosed
	case o.value == types.True:
		return v, false
	case message.unknown != nil:
		// It fails, but in which words is not known, and the words are part of the verdict.
		v.Result = Unknown
		v.Unknown, v.Because = r.hangs(message.unknown)
	default:
		v.Result, v.Reason = Fail, r.policy.validations[i].reason
		v.Message = r.message(i, message)
	}
	return v, true
}

// message is the first that is there of messageExpression's, message and the expression itself. An expression's message
// counts if it is a string of at most 5 KiB on one line and not blank.
func (r *run) message(i int, o outcome) string {
	if s, ok := stringOf(o); ok && len(s) <= celconfig.MaxEvaluatedMessageExpressionSizeBytes && s != "" && !strings.Contains(s, "\n") {
		return s
	}
	v := r.policy.validations[i]
	if s := strings.TrimSpace(v.message); s != "" {
		return s
	}
	return "failed expression: " + strings.TrimSpace(v.source)
}

func stringOf(o outcome) (string, bool) {
	if o.value == nil {
		return "", false
	}
	s, ok := o.value.Value().(string)
	return strings.TrimSpace(s), ok
}

// messagesFor evaluates the messageExpressions with what the validations left of the budget. The apiserver evaluates
// all of them; those of validations that did not fail matter only where they could use the budget up.
func (r *run) messagesFor(outcomes []outcome, p *phase) ([]outcome, error) {
	out := make([]outcome, len(outcomes))
	if r.policy.messages == nil {
		return out, nil
	}
	act := r.activation(r.matched, namespaceFields, false)
	defer r.done(act)
	q := newPhase(r.policy, act, nil, p.remaining)
	q.uncertain = p.uncertain
	roomy := q.remaining-q.uncertain > 2*celconfig.PerCallLimit*int64(len(r.policy.messages)+len(r.policy.variables))
	for i, m := range r.policy.messages {
		failed := outcomes[i].unknown == nil && outcomes[i].err == nil && outcomes[i].value != types.True
		if m == nil || roomy && !failed {
			continue
		}
		r.further = true
		o, err := q.eval(m)
		if err != nil {
			return out, err
		}
		out[i] = o
	}
	return out, nil
}
