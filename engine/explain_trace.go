package engine

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/vapshadow/vapshadow/replay"
)

// trace records how evaluations come about. A nil trace, which is that of Evaluate, records nothing.
type trace struct{ policies []*policyTrace }

type policyTrace struct {
	policy   *compiled
	as       target
	match    match
	bindings []*bindingTrace
}

type bindingTrace struct {
	binding *compiledBinding
	match   match
	found   *found // nil where it did not come to the params
	runs    []*evaluationTrace
}

// evaluationTrace is one run through the phases.
type evaluationTrace struct {
	run    *run
	params *replay.Object
	// secret: a Secret is among the inputs, so that values are masked.
	secret bool
	phases []*phaseTrace
}

type phaseTrace struct {
	of                           *evaluationTrace
	budget, remaining, uncertain int64
	evaluated                    []evaluated
	// variables are those that were evaluated since the last expression ended.
	variables []ExplainedExpression
	// ended is the error that ended the phase before its last expression.
	ended error
}

type evaluated struct {
	expression *expression
	ExplainedExpression
}

func (t *trace) policy(c *compiled, as target, m match) {
	if t != nil {
		t.policies = append(t.policies, &policyTrace{policy: c, as: as, match: m})
	}
}

func (t *trace) binding(b *compiledBinding, m match) {
	if t != nil {
		p := t.policies[len(t.policies)-1]
		p.bindings = append(p.bindings, &bindingTrace{binding: b, match: m})
	}
}

// last is the binding that is being evaluated.
func (t *trace) last() *bindingTrace {
	p := t.policies[len(t.policies)-1]
	return p.bindings[len(p.bindings)-1]
}

func (t *trace) params(f found) {
	if t != nil {
		traced := f // Else each of them would be made where it can be kept.
		t.last().found = &traced
	}
}

func (t *trace) evaluation(r *run, params *replay.Object) *evaluationTrace {
	if t == nil {
		return nil
	}
	e := &evaluationTrace{run: r, params: params, secret: secretInputs(r.req, params)}
	b := t.last()
	b.runs = append(b.runs, e)
	return e
}

// of finds the run of an evaluation; nil where it did not come to one.
func (b *bindingTrace) of(e *Evaluation) *evaluationTrace {
	for _, t := range b.runs {
		if e.sameAs(*t.run.out) {
			return t
		}
	}
	return nil
}

func (t *evaluationTrace) phase(budget int64) *phaseTrace {
	if t == nil {
		return nil
	}
	p := &phaseTrace{of: t, budget: budget, remaining: budget}
	t.phases = append(t.phases, p)
	return p
}

// depth tells how many variables were evaluated since the last expression ended.
func (t *phaseTrace) depth() int {
	if t == nil {
		return 0
	}
	return len(t.variables)
}

// variable records a variable. Its cost is given with that of the variables that it read: those since inner.
func (t *phaseTrace) variable(v *namedExpression, value ref.Val, cost int64, inner int) {
	if t == nil {
		return
	}
	x := ExplainedExpression{Name: v.name, Expression: v.source}
	for _, read := range t.variables[inner:] {
		cost -= *read.Cost
	}
	x.Cost = &cost
	switch value := value.(type) {
	case *types.Unknown:
		x.Unknown, x.Because = t.of.run.hangs(value)
	case *types.Err:
		x.Error = t.of.errorShown(value, v.err != nil)
	default:
		x.Type, x.Value = show(value, t.of.secret)
	}
	t.variables = append(t.variables, x)
}

// expression records an expression, whose cost is given with that of the variables that it was the first to read.
func (t *phaseTrace) expression(p *phase, e *expression, o outcome, err error, cost int64) {
	if t == nil {
		return
	}
	x := ExplainedExpression{Expression: e.source, Variables: t.variables}
	for _, read := range t.variables {
		cost -= *read.Cost
	}
	t.variables = nil
	switch {
	case err != nil:
		t.ended, x.Error = err, err.Error()
	case o.unknown != nil:
		x.Unknown, x.Because = t.of.run.hangs(o.unknown)
	case o.err != nil:
		x.Error = t.of.errorShown(o.err, e.err != nil)
	default:
		x.Type, x.Value = show(o.value, t.of.secret)
	}
	if err == nil && cost >= 0 {
		x.Cost = &cost
	}
	t.remaining, t.uncertain = p.remaining, p.uncertain
	t.evaluated = append(t.evaluated, evaluated{expression: e, ExplainedExpression: x})
}

// errorShown is the text of an error, which may hold a value: not of a Secret. One of compilation holds none.
func (t *evaluationTrace) errorShown(err error, compilation bool) string {
	if t.secret && !compilation {
		return Mask
	}
	return err.Error()
}

// result is what an expression came to as a validation.
func (x *ExplainedExpression) result(value string) Result {
	switch {
	case x.Error != "":
		return Error
	case x.Unknown != nil:
		return Unknown
	case x.Value == value:
		return Pass
	default:
		return Fail
	}
}

func sortByName[T any](list []T, name func(T) string) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
}
