package pipeline

import (
	"cmp"
	"slices"
	"strings"
)

// outcome is how the two sides compare on one policy and binding on one request.
type outcome int

const (
	bothPass outcome = iota
	bothFail
	differ
	undecided
	notRecorded
)

// judgement is the comparison of one policy and binding on one request.
type judgement struct {
	pair        pairName
	outcome     outcome
	differences []Disagreement // without what is of the event
	reordered   bool
	because     string
}

// judge compares what is recorded of a policy and binding with vapshadow's opinion, nil where it has none.
func judge(p pairName, o *opinion, r *recorded, minor int) judgement {
	j := judgement{pair: p}
	listed := r.of(p)
	var ours []failure
	if o != nil {
		ours = o.failures
		j.because = o.because
	}
	theirs, ours, reordered := unmatched(listed, ours)
	matched := len(theirs) < len(listed)
	j.reordered = reordered
	theirs = slices.DeleteFunc(theirs, func(f failure) bool { return o != nil && o.mayFail(f.ExpressionIndex) })
	complete := r.complete(minor)
	j.differences = differences(theirs, ours, o, complete)
	told, found := j.rejection(p, o, r)
	matched = matched || found
	evidence := len(listed) > 0 || told || o != nil && o.audits && complete
	switch {
	case len(j.differences) > 0:
		j.outcome = differ
	case !evidence:
		j.outcome = notRecorded
	case o != nil && o.undecided() && (!matched || minor >= listsFailuresFrom):
		j.outcome = undecided
	case matched:
		j.outcome = bothFail
	}
	return j
}

// rejection compares whether the request was rejected, and how. told says whether the event tells, found whether both
// sides reject alike.
func (j *judgement) rejection(p pairName, o *opinion, r *recorded) (told, found bool) {
	var ours []rejection
	if o != nil {
		ours = o.rejections()
	}
	switch {
	case r.rejection != nil && r.rejection.pair() == p:
		if slices.ContainsFunc(ours, r.rejection.like) {
			return true, true
		}
		if o != nil && o.undecided() {
			return true, false
		}
		d := Disagreement{Apiserver: SaidDeny, ApiserverMessage: r.rejection.message, Vapshadow: SaidAdmit}
		if len(ours) > 0 {
			d.Vapshadow, d.VapshadowMessage = SaidDeny, ours[0].message
		}
		j.differences = append(j.differences, d)
	case r.admitted() && len(ours) > 0:
		j.differences = append(j.differences, Disagreement{Apiserver: SaidAdmit, Vapshadow: SaidDeny, VapshadowMessage: ours[0].message})
	default:
		return r.admitted() && o != nil && o.denies, false
	}
	return true, false
}

// like says whether a rejection of vapshadow's is the one that is recorded. An event may show no reason.
func (r *rejection) like(ours rejection) bool {
	return sameWords(r.message, ours.message) && (r.reason == "" || r.reason == cmp.Or(ours.reason, "Invalid"))
}

// unmatched takes away the failures that are on both sides: first those that are the same byte for byte, then those
// whose messages have the same words in another order, as they have where an expression walks a map.
func unmatched(theirs, ours []failure) (onlyTheirs, onlyOurs []failure, reordered bool) {
	exact := func(a, b string) bool { return a == b }
	theirs, ours = without(theirs, ours, exact)
	before := len(theirs)
	theirs, ours = without(theirs, ours, sameWords)
	return theirs, ours, len(theirs) < before
}

func without(theirs, ours []failure, same func(a, b string) bool) (onlyTheirs, onlyOurs []failure) {
	onlyOurs = slices.Clone(ours)
	for _, f := range theirs {
		i := slices.IndexFunc(onlyOurs, func(g failure) bool {
			return f.ExpressionIndex == g.ExpressionIndex && sameActions(f.ValidationActions, g.ValidationActions) && same(f.Message, g.Message)
		})
		if i < 0 {
			onlyTheirs = append(onlyTheirs, f)
			continue
		}
		onlyOurs = slices.Delete(onlyOurs, i, i+1)
	}
	return onlyTheirs, onlyOurs
}

func sameActions(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func sameWords(a, b string) bool { return a == b || slices.Equal(words(a), words(b)) }

// words are those of a text, sorted.
func words(s string) []string {
	out := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(", \t\n", r) })
	slices.Sort(out)
	return out
}

// differences makes one of the two sides' failures of the same validation. Where the list is not complete, nobody says
// that a failure was not found.
func differences(theirs, ours []failure, o *opinion, complete bool) []Disagreement {
	var out []Disagreement
	for _, f := range theirs {
		d := Disagreement{
			ExpressionIndex: &f.ExpressionIndex,
			Apiserver:       SaidFail, ApiserverMessage: f.Message, ApiserverActions: f.ValidationActions, Vapshadow: o.said(),
		}
		if i := slices.IndexFunc(ours, func(g failure) bool { return f.ExpressionIndex == g.ExpressionIndex }); i >= 0 {
			d.Vapshadow, d.VapshadowMessage, d.VapshadowActions = SaidFail, ours[i].Message, ours[i].ValidationActions
			ours = slices.Delete(ours, i, i+1)
		}
		out = append(out, d)
	}
	for _, f := range ours {
		if complete && slices.Contains(f.ValidationActions, "Audit") {
			out = append(out, Disagreement{
				ExpressionIndex: &f.ExpressionIndex,
				Apiserver:       SaidPass, Vapshadow: SaidFail, VapshadowMessage: f.Message, VapshadowActions: f.ValidationActions,
			})
		}
	}
	return out
}
