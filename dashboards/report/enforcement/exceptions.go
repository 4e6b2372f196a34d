package enforcement

import (
	"bytes"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/dashboards/report/exception"
	"github.com/vapshadow/vapshadow/sink"
)

// Note has the plan tell of exceptions, beside the bindings that they are about. They change no step: the apiserver knows
// none, so that where an excepted workload fails nothing can be enforced. What they have expired by is the end of the
// period, else now where it is given, else the end of the data.
func (p *Plan) Note(list exception.List, f sink.Filter) {
	p.exceptions, p.asOf = list, f.Until
	if p.asOf.IsZero() {
		p.asOf = p.Criteria.Now
	}
	if !p.asOf.IsZero() {
		return
	}
	for i := range p.Steps {
		if last := p.Steps[i].Last; !last.IsZero() && last.Add(time.Minute).After(p.asOf) {
			p.asOf = last.Add(time.Minute)
		}
	}
}

// writeForeign tells of the exceptions that are about no step.
func (p *Plan) writeForeign(out *bytes.Buffer) {
	for i := range p.exceptions {
		e := &p.exceptions[i]
		if !slices.ContainsFunc(p.Steps, func(s Step) bool { return p.about(e, &s) }) {
			comment(out, "An exception is about no binding of this plan: %s", words(e, p.asOf))
		}
	}
}

func (p *Plan) about(e *exception.Exception, s *Step) bool {
	return e.Policy == s.Policy && (e.Cluster == "" || e.Cluster == s.Cluster) && (e.Binding == "" || e.Binding == s.Binding)
}

// writeExceptions tells of the exceptions of a step, and that they do not help it.
func (p *Plan) writeExceptions(out *bytes.Buffer, s *Step) {
	for i := range p.exceptions {
		e := &p.exceptions[i]
		if p.about(e, s) {
			comment(out, "  %s", words(e, p.asOf))
			comment(out, "    %s", s.despite(e.Namespace))
		}
	}
}

// despite says what becomes of a namespace that has an exception.
func (s *Step) despite(namespace string) string {
	clean := slices.ContainsFunc(s.Clean, func(n sink.Readiness) bool { return n.Namespace == namespace })
	switch {
	case s.Deny != nil && (s.Rest == nil || clean || namespace == ""):
		return "nothing that it is about was seen to fail, and the binding denies there"
	case s.Rest != nil:
		return "the namespace is not enforced all the same: the apiserver knows no exceptions"
	default:
		return "it changes nothing here: the apiserver knows no exceptions"
	}
}

func words(e *exception.Exception, asOf time.Time) string {
	what := "all of namespace " + e.Namespace
	if e.Name != "" {
		what = e.Kind + " " + e.Name
		if e.Namespace != "" {
			what = e.Namespace + ": " + what
		}
	}
	how := " is excepted until "
	if e.Expired(asOf) {
		how = ": its exception expired after "
	}
	return "policy " + e.Policy + ", " + what + how + e.Until.Format(time.DateOnly) + " by " + e.ApprovedBy + ": " + e.Reason
}
