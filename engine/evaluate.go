package engine

import (
	"sync"

	"github.com/vapshadow/vapshadow/replay"
)

// Decision is what the policies came to on one request.
type Decision struct {
	// Evaluations are ordered by policy, binding and params.
	Evaluations []Evaluation
	// Annotations are what the apiserver would have written to its audit event.
	Annotations map[string]string
}

// Recycle gives the list of Evaluations to a decision that follows. Neither it nor what is in it may be used any more;
// copies may.
func (d Decision) Recycle() {
	clear(d.Evaluations)
	list := d.Evaluations[:0]
	lists.Put(&list)
}

// lists are lists of Evaluations that nobody uses.
var lists = sync.Pool{New: func() any { return new([]Evaluation) }}

func borrowList(room int) []Evaluation {
	list := *lists.Get().(*[]Evaluation)
	if cap(list) < room {
		list = make([]Evaluation, 0, room)
	}
	return list
}

// Evaluate evaluates every policy that matches a request.
func (e *Engine) Evaluate(req *replay.Request) Decision { return e.decide(req, nil) }

func (e *Engine) decide(req *replay.Request, t *trace) Decision {
	out := e.evaluations(req, t)
	if req.Object.Other != nil {
		other := *req
		other.Object.Content, other.Object.Other = req.Object.Other, nil
		alternative := e.evaluations(&other, nil)
		claimNoRepeats(out)
		claimNoRepeats(alternative)
		out = agreed(out, alternative, replay.NumberForm)
	}
	return Decision{Evaluations: out, Annotations: annotations(out)}
}

func (e *Engine) evaluations(req *replay.Request, t *trace) []Evaluation {
	s := newScope(e, req)
	s.trace = t
	candidates := e.candidates(req)
	out := borrowList(len(candidates))
	for _, c := range candidates {
		begin := len(out)
		out = s.policy(out, c)
		of := out[begin:]
		if req.Perhaps != "" {
			for i := range of {
				of[i] = of[i].doubted(req.Perhaps, "oldObject")
			}
		}
		if e.hidden[c.policy.Name] {
			for i := range of {
				of[i] = of[i].doubtedPolicy(PolicyNotShown)
			}
		}
	}
	return out
}

// policy evaluates one policy with each of its bindings, and appends what that comes to.
func (s *scope) policy(out []Evaluation, c *compiled) []Evaluation {
	as, m := s.match(c.constraints)
	s.trace.policy(c, as, m)
	switch m.is {
	case no:
		return out
	case misconfigured:
		return append(out, c.misconfigured(nil, m.err))
	}
	if err := c.missingParamKind(s.req); err != nil {
		return append(out, c.misconfigured(nil, err))
	}
	for _, b := range c.bindings {
		out = s.binding(out, c, b, as, m)
	}
	return out
}

// binding evaluates one policy with one of its bindings, with each of the params that the binding finds.
func (s *scope) binding(out []Evaluation, c *compiled, b *compiledBinding, as target, policy match) []Evaluation {
	m := matched
	if b.constraints != nil {
		_, m = s.match(b.constraints)
	}
	s.trace.binding(b, m)
	switch {
	case m.is == no:
		return out
	case m.is == misconfigured:
		return append(out, c.misconfigured(b, m.err))
	case policy.is == unknown:
		return append(out, c.undecided(b, policy.because, policy.on))
	case m.is == unknown:
		return append(out, c.undecided(b, m.because, m.on))
	}
	f := c.params(b, s.req)
	s.trace.params(f)
	switch {
	case f.err != nil:
		return append(out, c.misconfigured(b, f.err))
	case f.unknown != "":
		e := c.undecided(b, f.unknown, "params")
		if f.named == nil {
			return append(out, e)
		}
		named := e
		named.Params = f.named
		if f.unknown == replay.Changing && deniesWithoutParams(b) {
			// The object was coming or going: with it there is an evaluation, without it a configuration error.
			return append(out, e, named)
		}
		return append(out, named)
	}
	level := replay.Weaker(policy.evidence, m.evidence)
	for _, p := range f.params {
		out = s.evaluate(out, c, b, as, p, level)
	}
	return out
}

func (c *compiled) evaluation(b *compiledBinding) (e Evaluation) {
	c.begin(&e, b)
	return e
}

// begin fills in of an evaluation what it is one of.
func (c *compiled) begin(e *Evaluation, b *compiledBinding) {
	e.Policy, e.PolicyHash, e.Evidence, e.failClosed = c.policy.Name, c.hash, replay.Exact, c.failClosed
	if b != nil {
		e.Binding, e.BindingHash, e.ValidationActions = b.binding.Name, b.text.Hash, b.acts
	}
}

// misconfigured is a policy (or, with a binding, that binding) that cannot be evaluated. With failurePolicy Fail the
// request is rejected whatever validationActions say.
func (c *compiled) misconfigured(b *compiledBinding, err error) Evaluation {
	e := c.evaluation(b)
	e.Result, e.ConfigError, e.BlocksAnyway = Error, err.Error(), c.failClosed
	e.settle()
	return e
}

// undecided is an evaluation of which it is not known whether it took place.
func (c *compiled) undecided(b *compiledBinding, because replay.Reason, on string) Evaluation {
	e := c.evaluation(b)
	e.Result, e.Because, e.Unknown, e.Evidence = Unknown, because, []string{on}, replay.Missing
	return e
}
