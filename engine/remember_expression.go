package engine

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// recallableExpression is what the results of an expression are remembered by, apart from those of its policy: of a policy
// that looks at several things, mostly one is new. Policies that have the same expression share what is remembered.
type recallableExpression struct {
	// id is that of the source, and of whether it is a match condition or a validation: those see other namespaces.
	id     digest
	places []int32
}

// rememberedExpression is a result that is true or false. Errors are not remembered.
type rememberedExpression struct {
	value bool
	cost  uint64
	// read are the inputs that were looked at.
	read inputSet
}

// rememberAlone makes an expression recallable, if what it costs hangs on its own places alone: a variable costs the first
// expression that reads it, and an authorizer may not answer.
func (c *compiled) rememberAlone(e *expression, tag int, m *memory) {
	if e.err != nil || e.inputs&readsAuthorizer != 0 {
		return
	}
	if _, vars := e.names(); len(vars) > 0 {
		return
	}
	e.alone = &recallableExpression{id: digestNumber(tag, 0).and(digestString(e.source))}
	for _, p := range c.placesOf([]*expression{e}) {
		e.alone.places = append(e.alone.places, m.places.of(p))
	}
	slices.Sort(e.alone.places)
}

// key is the key of an expression's result; false where it is not remembered.
func (p *phase) key(e *expression) (digest, bool) {
	r := p.act.run
	if e.alone == nil || !r.remembers || e.inputs&p.act.unknown != 0 {
		return digest{}, false
	}
	return r.digest(e.alone.id.and(r.asDigest(r.as)), e.alone.places)
}

// keep remembers a result.
func (p *phase) keep(key digest, value ref.Val, details *cel.EvalDetails) {
	is, ok := value.(types.Bool)
	if !ok || details == nil || details.ActualCost() == nil {
		return
	}
	p.act.run.engine.memory.expressions.put(key, rememberedExpression{value: bool(is), cost: *details.ActualCost(), read: p.act.read})
}

// recall comes to what is remembered, at the same cost.
func (p *phase) recall(known rememberedExpression) (outcome, error) {
	p.act.read |= known.read
	if err := p.spend(known.cost); err != nil {
		return outcome{}, err
	}
	if u := p.perhapsSpent(); u != nil {
		return outcome{unknown: u}, nil
	}
	return outcome{value: types.Bool(known.value)}, nil
}
