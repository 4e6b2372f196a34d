package pipeline

import (
	"cmp"
	"slices"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/sink"
)

// opinion is what vapshadow says of one policy and binding on a request, its params taken together.
type opinion struct {
	audits, denies bool // the binding's actions
	failures       []failure
	// blocks are the messages of what rejects the request whatever the actions are.
	blocks []string
	// skipped: match conditions are false, all of them.
	skipped bool
	// unknown: it is not known whether there is an evaluation. unknownAt are the validations that are not known.
	unknown   bool
	unknownAt []int
	because   string
}

// opinions reads the evaluations of the records of one event.
func opinions(records ...*sink.Record) map[pairName]*opinion {
	out := map[pairName]*opinion{}
	for _, r := range records {
		for i := range r.Evaluations {
			e := &r.Evaluations[i]
			p := pairName{e.Policy, e.Binding}
			if out[p] == nil {
				out[p] = &opinion{skipped: true}
			}
			out[p].add(e)
		}
	}
	return out
}

func (o *opinion) add(e *sink.Evaluation) {
	o.audits = o.audits || slices.Contains(e.ValidationActions, "Audit")
	o.denies = o.denies || slices.Contains(e.ValidationActions, "Deny")
	o.skipped = o.skipped && e.Result == string(engine.Skipped)
	if e.Result == string(engine.Unknown) && len(e.Verdicts) == 0 {
		o.unknown, o.because = true, cmp.Or(o.because, e.Because)
	}
	if e.BlocksAnyway {
		o.blocks = append(o.blocks, blockMessage(e))
	}
	for _, v := range e.Verdicts {
		switch {
		case v.Result == string(engine.Unknown):
			o.unknownAt, o.because = append(o.unknownAt, v.ExpressionIndex), cmp.Or(o.because, v.Because)
		case !v.Ignored:
			o.failures = append(o.failures, failure{
				Message: v.Message, Policy: e.Policy, Binding: e.Binding, ExpressionIndex: v.ExpressionIndex,
				ValidationActions: e.ValidationActions, reason: v.Reason,
			})
		}
	}
}

// blockMessage is the message with which an apiserver rejects a request that a policy cannot be evaluated on.
func blockMessage(e *sink.Evaluation) string {
	switch {
	case e.ConfigError == "":
		return e.AnnotationError
	case e.Binding == "":
		return "failed to configure policy: " + e.ConfigError
	default:
		return "failed to configure binding: " + e.ConfigError
	}
}

// undecided says whether anything is not known.
func (o *opinion) undecided() bool { return o.unknown || len(o.unknownAt) > 0 }

// mayFail says whether a validation may have failed, for all that is known.
func (o *opinion) mayFail(index int) bool { return o.unknown || slices.Contains(o.unknownAt, index) }

// rejections are the reasons for which vapshadow rejects the request.
func (o *opinion) rejections() []rejection {
	var out []rejection
	for _, message := range o.blocks {
		out = append(out, rejection{message: message})
	}
	for _, f := range o.failures {
		if slices.Contains(f.ValidationActions, "Deny") {
			out = append(out, rejection{message: f.Message, reason: f.reason})
		}
	}
	return out
}

// said is what vapshadow says of a validation that it does not find failing. o may be nil.
func (o *opinion) said() Said {
	switch {
	case o == nil:
		return SaidNotMatched
	case o.skipped:
		return SaidSkipped
	default:
		return SaidPass
	}
}
