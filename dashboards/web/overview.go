package web

import (
	"context"

	"github.com/vapshadow/vapshadow/sink"
)

type overviewView struct {
	// Answer says in a sentence how many may be enforced.
	Answer     string
	Tiles      []tile
	Readiness  table
	Namespaces table
	Users      table
	System     []string
	Trend      *chart
	Changes    table
	Coverage   *bar
	Legend     []legend
	Unknowns   table
	Trust      []trust
	Empty      bool
}

// overview answers the four questions for all policies.
func overview(ctx context.Context, s *server, q query) (view, error) {
	v := view{Title: "Overview"}
	all, err := s.Reader.Readiness(ctx, q.filter(), s.Criteria)
	if err != nil {
		return v, err
	}
	b := overviewView{
		Answer: answer(all), Tiles: verdictTiles(all), Readiness: readinessTable(&q, all, "Policies and their bindings"),
		Changes: changes(&q, all), Empty: len(all) == 0, Legend: coverageLegend, System: systemActors(all),
	}
	b.Coverage = totalCoverage(all)
	if b.Namespaces, err = namespacesTable(ctx, s.Reader, &q, q.filter()); err != nil {
		return v, err
	}
	if b.Users, err = usersTable(ctx, s.Reader, &q, q.filter()); err != nil {
		return v, err
	}
	if b.Trend, err = trend(ctx, s.Reader, q.filter(), "Requests that a policy would have stopped, or of which it is not known"); err != nil {
		return v, err
	}
	if b.Unknowns, err = unknownsTable(ctx, s.Reader, &q, q.filter()); err != nil {
		return v, err
	}
	if b.Trust, err = trustIn(ctx, s.Reader); err != nil {
		return v, err
	}
	agrees, err := agreementIn(ctx, s.Reader, &q, q.filter())
	b.Trust = append(b.Trust, agrees)
	v.Body = b
	return v, err
}

func answer(all []sink.Readiness) string {
	ready := int64(0)
	for i := range all {
		if all[i].Verdict == sink.Ready {
			ready++
		}
	}
	whole := several(int64(len(all)), "binding", "bindings")
	switch {
	case len(all) == 0:
		return "No policy has been evaluated in this period."
	case ready == int64(len(all)):
		return "Yes: each of " + whole + " may be enforced."
	case ready == 0:
		return "Not yet: none of " + whole + " may be enforced."
	default:
		return number(ready) + " of " + whole + " may be enforced."
	}
}

var coverageLegend = []legend{{"ready", "decided, proven by the log"}, {"presumed", "decided, on the best reconstruction"}, {"unknown", "unknown"}}

func totalCoverage(all []sink.Readiness) *bar {
	sum := sink.Readiness{}
	for i := range all {
		r := &all[i]
		sum.Matched += r.Matched
		sum.DecidedExact += r.DecidedExact
		sum.DecidedPresumed += r.DecidedPresumed
		sum.DecidedOtherwise += r.DecidedOtherwise
		sum.Unknown += r.Unknown
	}
	if sum.Matched == 0 {
		return nil
	}
	b := coverageBar(&sum)
	b.Label = sum.Percent() + " of " + several(sum.Matched, "evaluation", "evaluations") + " are decided"
	return b
}

func systemActors(all []sink.Readiness) (names []string) {
	seen := map[string]bool{}
	for i := range all {
		for _, name := range all[i].SystemActorNames {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// changes lists the policies whose text changed in the period.
func changes(q *query, all []sink.Readiness) table {
	t := table{
		Caption: "Policies whose text, or whose binding's text, changed", Head: heads("Policy", "#Texts", "The last one since (UTC)"),
		Empty: "No policy changed its text in this period.",
	}
	for i := range all {
		if r := &all[i]; r.Texts > 1 {
			name := linked(r.Policy, q.link("policy", "cluster", r.Cluster, "policy", r.Policy)+"#changed")
			name.Note = r.Binding
			t.Rows = append(t.Rows, []cell{name, count(r.Texts), when(r.TextSince)})
		}
	}
	return t
}
