package engine

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/replay"
)

// agreed keeps what two evaluations of one request agree on, where it can have been either of two. What they differ on
// is not known.
func agreed(a, b []Evaluation, because replay.Reason) []Evaluation {
	var out []Evaluation
	for _, e := range a {
		i := slices.IndexFunc(b, e.sameAs)
		if i < 0 {
			out = append(out, e.doubted(because, "object"))
			continue
		}
		out = append(out, e.agreedWith(b[i], because))
	}
	for _, e := range b {
		if !containsSame(a, e) {
			out = append(out, e.doubted(because, "object"))
		}
	}
	return out
}

func containsSame(list []Evaluation, e Evaluation) bool { return slices.ContainsFunc(list, e.sameAs) }

// sortEvaluations orders evaluations by policy, binding and params.
func sortEvaluations(list []Evaluation) {
	slices.SortStableFunc(list, func(a, b Evaluation) int {
		return cmp.Or(strings.Compare(a.Policy, b.Policy), strings.Compare(a.Binding, b.Binding), strings.Compare(a.paramsName(), b.paramsName()))
	})
}

func (e Evaluation) paramsName() string {
	if e.Params == nil {
		return ""
	}
	return e.Params.Namespace + "/" + e.Params.Name
}

func (e Evaluation) sameAs(other Evaluation) bool {
	return e.Policy == other.Policy && e.Binding == other.Binding && reflect.DeepEqual(e.Params, other.Params)
}

// doubted is an evaluation of which it is not known whether it took place, or how.
func (e Evaluation) doubted(because replay.Reason, on string) Evaluation {
	return Evaluation{
		Policy: e.Policy, Binding: e.Binding, Params: e.Params, ValidationActions: e.ValidationActions,
		PolicyHash: e.PolicyHash, BindingHash: e.BindingHash, ParamsHash: e.ParamsHash,
		Result: Unknown, Because: because, Unknown: []string{on}, Evidence: replay.Missing, failClosed: e.failClosed,
	}
}

// doubtedPolicy is an evaluation of which it is not known by which state of the policy or its binding it took place.
func (e Evaluation) doubtedPolicy(because replay.Reason) Evaluation {
	out := e.doubted(because, "policy")
	out.PolicyHash, out.BindingHash = "", ""
	return out
}

func (e Evaluation) agreedWith(other Evaluation, because replay.Reason) Evaluation {
	if reflect.DeepEqual(e, other) {
		return e
	}
	if e.ConfigError != other.ConfigError || e.AnnotationError != other.AnnotationError || (e.Result == Skipped) != (other.Result == Skipped) {
		return e.doubted(because, "object")
	}
	out := e
	out.Result, out.Effect = "", ""
	out.Verdicts = nil
	for i := range verdictCount(e, other) {
		x, y := e.verdict(i), other.verdict(i)
		switch {
		case !reflect.DeepEqual(x, y):
			out.Verdicts = append(out.Verdicts, Verdict{ExpressionIndex: i, Result: Unknown, Because: because, Unknown: []string{"object"}})
		case x != nil:
			out.Verdicts = append(out.Verdicts, *x)
		}
	}
	if !reflect.DeepEqual(e.annotations, other.annotations) {
		out.annotations = nil
		out.Because, out.Unknown = because, []string{"object"}
	}
	out.settle()
	return out
}

func (e Evaluation) verdict(index int) *Verdict {
	for i := range e.Verdicts {
		if e.Verdicts[i].ExpressionIndex == index {
			return &e.Verdicts[i]
		}
	}
	return nil
}

func verdictCount(evaluations ...Evaluation) int {
	n := 0
	for _, e := range evaluations {
		for _, v := range e.Verdicts {
			n = max(n, v.ExpressionIndex+1)
		}
	}
	return n
}
