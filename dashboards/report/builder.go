package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// Options bound the memory and the length of a summary.
type Options struct {
	// Top is how many names and messages each list shows; 0 is 5.
	Top int
	// Names is how many different names and messages each list tells apart; 0 is 1,000.
	Names int
	// Objects is how many different objects are told apart for each policy and binding; 0 is 20,000.
	Objects int
}

func (o Options) withDefaults() Options {
	o.Top = cmp.Or(o.Top, 5)
	o.Names = cmp.Or(o.Names, 1000)
	o.Objects = cmp.Or(o.Objects, 20_000)
	return o
}

// Totals is what a summary says beside the records.
type Totals struct {
	Events, OutOfPeriod   int64
	NotAdmission, Skipped map[string]int64
	// First and Last bound the stageTimestamps of the events; where they are zero, the records' own do.
	First, Last time.Time
	// Pairs are the policies and bindings that were evaluated, so that those which matched nothing are listed too.
	Pairs             []Pair
	Refused, Warnings []string
}

// Pair is a policy with one of its bindings.
type Pair struct {
	Policy, Binding   string
	ValidationActions []string
}

// Builder sums records up in bounded memory. The order of the records does not change the summary, but for lists of
// more different names than Options allow: those that come first are told apart then. It is not for concurrent use.
type Builder struct {
	options Options
	pairs   map[pairName]*pair
	// touched are the pairs of the record at hand.
	touched []*pair

	requests, wouldStop, blocksAnyway, undecided int64
	first, last                                  time.Time
	advised                                      advised
}

type pairName struct{ policy, binding string }

// NewBuilder returns a Builder of nothing yet.
func NewBuilder(o Options) *Builder {
	return &Builder{options: o.withDefaults(), pairs: map[pairName]*pair{}, advised: advised{}}
}

// Add counts a record. It keeps nothing of it but names and messages.
func (b *Builder) Add(rec *sink.Record) {
	b.requests++
	b.extend(rec.StageTimestamp)
	b.touched = b.touched[:0]
	for i := range rec.Evaluations {
		e := &rec.Evaluations[i]
		p := b.pair(e.Policy, e.Binding)
		if p.request != b.requests {
			p.request, p.outcome = b.requests, outcome{}
			b.touched = append(b.touched, p)
		}
		p.addActions(e.ValidationActions)
		p.outcome.fold(e)
	}
	var stops, blocks, unknown bool
	for _, p := range b.touched {
		p.count(rec)
		stops = stops || p.outcome.stops()
		blocks = blocks || p.outcome.blocks
		unknown = unknown || p.outcome.result == resultUnknown
	}
	reasons := map[string]bool{}
	for _, p := range b.touched {
		if p.outcome.result == resultUnknown && !reasons[p.outcome.because] {
			reasons[p.outcome.because] = true
			b.advised.add(rec, p.outcome.because)
		}
	}
	b.wouldStop += one(stops)
	b.blocksAnyway += one(blocks)
	b.undecided += one(unknown && !stops)
}

// AddUnmatched counts a request that no policy has a rule for, as Add does of a record without evaluations.
func (b *Builder) AddUnmatched(stageTimestamp time.Time) {
	b.requests++
	b.extend(stageTimestamp)
}

func (b *Builder) extend(at time.Time) {
	if b.first.IsZero() || at.Before(b.first) {
		b.first = at
	}
	if at.After(b.last) {
		b.last = at
	}
}

func (b *Builder) pair(policy, binding string) *pair {
	name := pairName{policy, binding}
	p := b.pairs[name]
	if p == nil {
		p = newPair(b.options)
		b.pairs[name] = p
	}
	return p
}

// Summary sums up what was added so far. More may be added afterwards.
func (b *Builder) Summary(t Totals) *Summary {
	s := &Summary{
		Events: t.Events, OutOfPeriod: t.OutOfPeriod,
		NotAdmission: orEmpty(maps.Clone(t.NotAdmission)), Skipped: orEmpty(maps.Clone(t.Skipped)),
		Requests: b.requests, WouldStop: b.wouldStop, BlocksAnyway: b.blocksAnyway, Undecided: b.undecided,
		Policies: []Policy{}, Advice: b.advised.list(),
		Refused: append([]string{}, t.Refused...), Warnings: append([]string{}, t.Warnings...),
	}
	first, last := t.First, t.Last
	if first.IsZero() || last.IsZero() {
		first, last = b.first, b.last
	}
	if !last.IsZero() {
		s.Period = &Period{First: first.UTC(), Last: last.UTC()}
	}
	declared := map[pairName]bool{}
	for _, d := range t.Pairs {
		name := pairName{d.Policy, d.Binding}
		if declared[name] {
			continue
		}
		declared[name] = true
		p := b.pairs[name]
		if p == nil {
			p = newPair(b.options)
		}
		row := p.row(name)
		row.ValidationActions = inOrder(d.ValidationActions)
		s.Policies = append(s.Policies, row)
	}
	for name, p := range b.pairs {
		if !declared[name] {
			s.Policies = append(s.Policies, p.row(name))
		}
	}
	slices.SortFunc(s.Policies, worseFirst)
	return s
}

func worseFirst(a, b Policy) int {
	return cmp.Or(
		-cmp.Compare(a.WouldStop, b.WouldStop),
		-cmp.Compare(a.BlocksAnyway, b.BlocksAnyway),
		-cmp.Compare(a.Unknown, b.Unknown),
		-cmp.Compare(a.Errors, b.Errors),
		cmp.Compare(a.Policy, b.Policy),
		cmp.Compare(a.Binding, b.Binding),
	)
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

func orEmpty(m map[string]int64) map[string]int64 {
	if m == nil {
		return map[string]int64{}
	}
	return m
}
