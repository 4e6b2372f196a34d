package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/vapshadow/vapshadow/engine"
)

// agreement sums up.
func (c *comparison) agreement(result *Result) *Agreement {
	a := &Agreement{Result: result, OneFailure: c.minor < listsFailuresFrom, Recorded: c.recorded, UndecidedBecause: c.because, Unfinished: int64(len(c.unfinished)), log: c.log}
	for _, p := range inOrder(c.pairs) {
		a.Compared = append(a.Compared, *c.pairs[p])
	}
	for _, p := range inOrder(c.annotations) {
		a.Annotations = append(a.Annotations, *c.annotations[p])
	}
	for _, p := range inOrder(c.notGiven) {
		a.NotGiven = append(a.NotGiven, NotGiven{p.policy, p.binding, c.notGiven[p]})
	}
	a.Notes = c.notes(a)
	return a
}

func inOrder[V any](m map[pairName]V) []pairName {
	return slices.SortedFunc(maps.Keys(m), func(a, b pairName) int {
		return cmp.Or(cmp.Compare(a.policy, b.policy), cmp.Compare(a.binding, b.binding))
	})
}

// notes explain what disagreements have in common.
func (c *comparison) notes(a *Agreement) []string {
	var notes []string
	var disagreed bool
	for _, p := range a.Compared {
		disagreed = disagreed || p.Disagreed > 0
		if p.Disagreed > 0 && !c.named[p.Policy] {
			notes = append(notes, fmt.Sprintf("no event names policy %q: was it bound when the log was written?", p.Policy))
		}
	}
	notes = slices.Compact(notes)
	switch {
	case c.minor >= listsFailuresFrom && c.longest == 1 && disagreed:
		notes = append(notes, fmt.Sprintf("no event lists more than one failure, as up to Kubernetes 1.%d: if the log was written by such an apiserver, say so with --kubernetes-version", listsFailuresFrom-1))
	case c.minor < listsFailuresFrom && c.longest > 1:
		notes = append(notes, fmt.Sprintf("an event lists %d failures, as from Kubernetes 1.%d: say with --kubernetes-version which apiserver wrote the log", c.longest, listsFailuresFrom))
	}
	if c.unreadable > 0 {
		notes = append(notes, fmt.Sprintf("the annotation %s of %d events is no list of failures, and is not compared", engine.FailureAnnotation, c.unreadable))
	}
	return notes
}
