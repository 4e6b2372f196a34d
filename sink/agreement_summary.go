package sink

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// AgreementCounts counts comparisons.
type AgreementCounts struct {
	Agreed int64 `json:"agreed"`
	// BothFail are those of Agreed that are failures: that both sides find nothing wrong proves less.
	BothFail    int64 `json:"bothFail"`
	Disagreed   int64 `json:"disagreed"`
	Undecided   int64 `json:"undecided"`
	NotRecorded int64 `json:"notRecorded"`
}

// Compared are the comparisons that could be made.
func (c *AgreementCounts) Compared() int64 { return c.Agreed + c.Disagreed }

// AgreementSummary is how far what is stored was compared with an apiserver's own decisions, and what came of it. What
// several runs tell of the same policy in the same log counts once. Every surface shows this one.
type AgreementSummary struct {
	// Logs is how many logs were compared, and First and Last bound their events.
	Logs        int       `json:"logs"`
	First, Last time.Time `json:"-"`
	// Decisions are those of policies and bindings on requests, Values those of audit annotations.
	Decisions AgreementCounts `json:"decisions"`
	Values    AgreementCounts `json:"values"`
	// Pairs are ordered: what disagrees first, then by name.
	Pairs []AgreementPair `json:"-"`
	// Disagreements and NotCompared are ordered, the most first.
	Disagreements []AgreementGroup `json:"-"`
	NotCompared   []AgreementGroup `json:"-"`
}

// AgreementPair counts the decisions of one policy and binding.
type AgreementPair struct {
	Cluster, Policy, Binding string
	AgreementCounts
}

// AgreementGroup counts what has a policy and binding, an outcome and a reason in common.
type AgreementGroup struct {
	Cluster, Policy, Binding, Annotation string
	Outcome, Reason                      string
	Count                                int64
	AuditIDs                             []string
}

// SumAgreement sums up the latest runs that a filter lets through: cluster, policy, binding and period count, where a log
// is as old as its last event.
func SumAgreement(ctx context.Context, r Reader, f Filter) (*AgreementSummary, error) {
	b := agreementBuilder{logs: map[[2]string]bool{}, pairs: map[[3]string]*AgreementPair{}, groups: map[[6]string]*AgreementGroup{}}
	f.Latest = true
	for row, err := range r.Agreement(ctx, f) {
		if err != nil {
			return nil, err
		}
		b.add(&row)
	}
	return b.summary(), nil
}

type agreementBuilder struct {
	out    AgreementSummary
	logs   map[[2]string]bool
	pairs  map[[3]string]*AgreementPair
	groups map[[6]string]*AgreementGroup
}

func (b *agreementBuilder) add(row *Agreement) {
	b.logs[[2]string{row.Cluster, row.Log}] = true
	if b.out.First.IsZero() || row.FirstEvent.Before(b.out.First) {
		b.out.First = row.FirstEvent
	}
	if row.LastEvent.After(b.out.Last) {
		b.out.Last = row.LastEvent
	}
	counts := &b.out.Values
	if row.Annotation == "" {
		counts = &b.out.Decisions
		name := [3]string{row.Cluster, row.Policy, row.Binding}
		if b.pairs[name] == nil {
			b.pairs[name] = &AgreementPair{Cluster: row.Cluster, Policy: row.Policy, Binding: row.Binding}
		}
		b.pairs[name].add(row)
	}
	counts.add(row)
	if row.Outcome == Agreed {
		return
	}
	name := [6]string{row.Cluster, row.Policy, row.Binding, row.Annotation, row.Outcome, row.Reason}
	g := b.groups[name]
	if g == nil {
		g = &AgreementGroup{row.Cluster, row.Policy, row.Binding, row.Annotation, row.Outcome, row.Reason, 0, nil}
		b.groups[name] = g
	}
	g.Count += row.Count
	for _, id := range row.AuditIDs {
		if len(g.AuditIDs) < MaxAgreementSamples && !slices.Contains(g.AuditIDs, id) {
			g.AuditIDs = append(g.AuditIDs, id)
		}
	}
}

// MaxAgreementSamples is how many audit IDs are kept of the disagreements of a kind.
const MaxAgreementSamples = 5

func (c *AgreementCounts) add(row *Agreement) {
	switch row.Outcome {
	case Agreed:
		c.Agreed += row.Count
		if row.Reason == BothFail || row.Reason == Reordered {
			c.BothFail += row.Count
		}
	case Disagreed:
		c.Disagreed += row.Count
	case Undecided:
		c.Undecided += row.Count
	case NotRecorded:
		c.NotRecorded += row.Count
	}
}

func (b *agreementBuilder) summary() *AgreementSummary {
	out := &b.out
	out.Logs = len(b.logs)
	for _, p := range b.pairs {
		out.Pairs = append(out.Pairs, *p)
	}
	slices.SortFunc(out.Pairs, func(x, y AgreementPair) int {
		return cmp.Or(-cmp.Compare(x.Disagreed, y.Disagreed), cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Policy, y.Policy), cmp.Compare(x.Binding, y.Binding))
	})
	for _, g := range slices.SortedFunc(maps.Values(b.groups), func(x, y *AgreementGroup) int {
		return cmp.Or(-cmp.Compare(x.Count, y.Count), cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Policy, y.Policy), cmp.Compare(x.Binding, y.Binding),
			cmp.Compare(x.Annotation, y.Annotation), cmp.Compare(x.Outcome, y.Outcome), cmp.Compare(x.Reason, y.Reason))
	}) {
		if g.Outcome == Disagreed {
			out.Disagreements = append(out.Disagreements, *g)
		} else {
			out.NotCompared = append(out.NotCompared, *g)
		}
	}
	return out
}

// Disagreed says whether the two sides differ on anything.
func (s *AgreementSummary) Disagreed() bool { return s.Decisions.Disagreed+s.Values.Disagreed > 0 }

// Compared says whether anything could be compared.
func (s *AgreementSummary) Compared() bool {
	return s.Decisions.Compared()+s.Values.Compared() > 0
}

// Sentence says it in words, as part of a sentence or on its own.
func (s *AgreementSummary) Sentence() string {
	d := s.Decisions
	switch {
	case s.Logs == 0:
		return "not verified: vapshadow was not compared with the decisions that an apiserver recorded"
	case !s.Compared():
		return fmt.Sprintf("not verified: %s compared, and held no decision that could be", logs(s.Logs))
	case s.Disagreed():
		text := fmt.Sprintf("verified: vapshadow and the apiserver disagree on %d of %d recorded decisions", d.Disagreed, d.Compared())
		if s.Values.Disagreed > 0 {
			text += fmt.Sprintf(" and on %d of %d values of audit annotations", s.Values.Disagreed, s.Values.Compared())
		}
		return text + s.rest()
	case d.Compared() == 0:
		return fmt.Sprintf("verified: vapshadow and the apiserver agree on %d values of audit annotations; no decision could be compared", s.Values.Agreed)
	case d.BothFail == 0:
		return fmt.Sprintf("verified: vapshadow and the apiserver agree on %d recorded decisions, none of which is a failure: that proves little", d.Agreed) + s.rest()
	default:
		return fmt.Sprintf("verified: vapshadow and the apiserver agree on all %d recorded decisions, %d of them failures", d.Agreed, d.BothFail) + s.rest()
	}
}

// rest says what could not be compared.
func (s *AgreementSummary) rest() string {
	return fmt.Sprintf("; %d more could not be compared", s.Decisions.Undecided+s.Decisions.NotRecorded)
}

func logs(n int) string {
	if n == 1 {
		return "1 log was"
	}
	return fmt.Sprintf("%d logs were", n)
}
