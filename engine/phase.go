package engine

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/lazy"

	"github.com/vapshadow/vapshadow/engine/value"
)

// phase evaluates expressions one after the other against one activation and one cost budget: the match conditions of
// an evaluation are one phase, its validations the next, and so on. Variables are evaluated at most once a phase.
type phase struct {
	policy *compiled
	act    *activation
	authz  *authorizer

	// remaining is what is left of the budget.
	remaining int64
	// uncertain is what unknown expressions might have cost on top, with variables among them from the first on: those
	// are evaluated once.
	uncertain     int64
	withVariables bool
	// composition is what variables have cost since the last expression began.
	composition int64
	vars        ref.Val
	trace       *phaseTrace
}

func newPhase(c *compiled, act *activation, authz *authorizer, budget int64) *phase {
	p := &phase{policy: c, act: act, authz: authz, remaining: budget, trace: act.run.trace.phase(budget)}
	act.variables = p.variables
	return p
}

// outcome is what an expression came to: a value, an error, or unknown.
type outcome struct {
	value   ref.Val
	err     *apiservercel.Error
	unknown *types.Unknown
}

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run"

// costUnknown stands for the attribute of an outcome that hangs on what an earlier, unknown expression cost.
const costUnknown = "cost"

// eval evaluates one expression. The error, as opposed to the outcome's, ends the phase.
func (p *phase) eval(e *expression) (outcome, error) {
	before := p.remaining
	o, err := p.evaluate(e)
	p.trace.expression(p, e, o, err, before-p.remaining)
	return o, err
}

func (p *phase) evaluate(e *expression) (outcome, error) {
	if e.err != nil {
		return outcome{err: invalid(fmt.Sprintf("compilation error: %v", e.err), e.err)}, nil
	}
	key, remembers := p.key(e)
	if remembers {
		if known, ok := p.act.run.engine.memory.expressions.get(key); ok {
			return p.recall(known)
		}
	}
	program, err := p.program(e)
	if err != nil {
		return outcome{err: &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: err.Error()}}, nil
	}
	p.authz.reset()
	read := p.act.takeRead()
	value, details, evalErr := program.Eval(p.act)
	if remembers && evalErr == nil {
		p.keep(key, value, details)
	}
	p.act.read |= read
	if u := p.broken(e, evalErr); u != nil {
		p.spendUnknown()
		return outcome{unknown: u}, nil
	}
	over := p.composition > p.remaining
	p.remaining -= p.composition
	p.composition = 0
	if over {
		return outcome{}, invalid(outOfBudget, apiservercel.ErrOutOfBudget)
	}
	var cost *uint64
	if details != nil {
		cost = details.ActualCost()
	}
	if cost == nil {
		return outcome{}, invalid(fmt.Sprintf("runtime cost could not be calculated for expression: %v, no further expression will be run", e.source), apiservercel.ErrOutOfBudget)
	}
	if err := p.spend(*cost); err != nil {
		return outcome{}, err
	}
	if u := p.unknown(value); u != nil {
		p.spendUnknown()
		return outcome{unknown: u}, nil
	}
	if u := p.perhapsSpent(); u != nil {
		return outcome{unknown: u}, nil
	}
	if evalErr != nil {
		return outcome{err: invalid(fmt.Sprintf("expression '%v' resulted in error: %v", e.source, errorText(evalErr)), nil)}, nil
	}
	return outcome{value: value}, nil
}

// spend takes what an expression cost from the budget.
func (p *phase) spend(cost uint64) error {
	if cost > math.MaxInt64 || int64(cost) > p.remaining {
		return invalid(outOfBudget, apiservercel.ErrOutOfBudget)
	}
	p.remaining -= int64(cost)
	return nil
}

// perhapsSpent says what an outcome hangs on where unknown expressions may have used the budget up; nil where they cannot.
func (p *phase) perhapsSpent() *types.Unknown {
	if p.uncertain <= p.remaining {
		return nil
	}
	return types.NewUnknown(0, types.NewAttributeTrail(costUnknown))
}

// spendUnknown counts what an unknown expression can have cost at most.
func (p *phase) spendUnknown() {
	p.uncertain += celconfig.PerCallLimit
	if !p.withVariables {
		p.withVariables = true
		p.uncertain += celconfig.PerCallLimit * int64(len(p.policy.variables))
	}
}

// program is the one to evaluate: only where something is unknown does cel-go have to look for it.
func (p *phase) program(e *expression) (cel.Program, error) {
	if e.inputs&p.act.unknown == 0 {
		return e.exact, nil
	}
	return e.unknowing()
}

// broken says what an evaluation with unknown inputs hangs on whose error would not be that of the whole inputs: a panic
// of cel-go's, some of whose functions and cost trackers do not expect unknown arguments; the limit of a call, which an
// operand may have spent that the whole inputs would have passed over; and the error of a key, which cel-go resolves
// before it looks whether what the key is for is known.
func (p *phase) broken(e *expression, err error) *types.Unknown {
	if trail, ok := value.UnknowableTrail(err); ok {
		return types.NewUnknown(0, types.NewAttributeTrail(trail))
	}
	if err == nil || e.inputs&p.act.unknown == 0 {
		return nil
	}
	on := e.inputs & p.act.unknown
	var celErr *types.Err
	var cancelled interpreter.EvalCancelledError
	switch {
	case errors.As(err, &cancelled):
		return types.NewUnknown(0, types.NewAttributeTrail(costUnknown))
	case errors.As(err, &celErr):
		on &= e.keyed
	}
	for _, name := range slices.Sorted(maps.Keys(inputNames)) { // Always the same one, where there are several.
		if inputNames[name]&on != 0 {
			return types.NewUnknown(0, types.NewAttributeTrail(name))
		}
	}
	return nil
}

// unknown says what a value hangs on, if it is not known. An authorizer that could not answer makes it so too.
func (p *phase) unknown(value ref.Val) *types.Unknown {
	if u, ok := value.(*types.Unknown); ok {
		return u
	}
	if p.authz.asked() {
		return types.NewUnknown(0, types.NewAttributeTrail("authorizer"))
	}
	return nil
}

// variables is the lazy map behind `variables`.
func (p *phase) variables() ref.Val {
	if p.vars == nil {
		m := lazy.NewMapValue(p.policy.composition)
		for i := range p.policy.variables {
			v := &p.policy.variables[i]
			m.Append(v.name, func(*lazy.MapValue) ref.Val {
				before, inner := p.composition, p.trace.depth()
				value := p.variable(v)
				p.trace.variable(v, value, p.composition-before, inner)
				return value
			})
		}
		p.vars = m
	}
	return p.vars
}

func (p *phase) variable(v *namedExpression) ref.Val {
	if v.err != nil {
		return types.NewErr("composited variable %q fails to compile: %v", v.name, v.err)
	}
	program, err := p.program(v.expression)
	if err != nil {
		return types.NewErr("composited variable %q fails to evaluate: %v", v.name, errorText(err))
	}
	value, details, err := program.Eval(p.act)
	if u := p.broken(v.expression, err); u != nil {
		return u
	}
	if details == nil {
		return types.NewErr("unable to get evaluation details of variable %q", v.name)
	}
	cost := details.ActualCost()
	if cost == nil {
		return types.NewErr("unable to calculate cost of variable %q", v.name)
	}
	p.composition += int64(min(*cost, math.MaxInt64))
	if u := p.unknown(value); u != nil {
		return u
	}
	if err != nil {
		return types.NewErr("composited variable %q fails to evaluate: %v", v.name, errorText(err))
	}
	return value
}

// errorText is the text of an error of CEL's as the apiserver words it.
func errorText(err error) string { return value.Message(err.Error()) }
