package web

import (
	"cmp"
	"context"
	"slices"

	"github.com/vapshadow/vapshadow/sink"
)

type namespacesView struct{ Namespaces table }

// maxNamespaces bounds the list of namespaces; a cluster with more is best searched.
const maxNamespaces = 1000

// namespaces lists all of them, and how each fares.
func namespaces(ctx context.Context, s *server, q query) (view, error) {
	v := view{Title: "Namespaces", Crumbs: []crumb{{"Overview", q.link("")}}}
	t := table{
		Caption: "Namespaces with requests that a policy matched", Head: heads("Namespace", "Team", "#Requests stopped", "#Workloads", "#Evaluations", "Decided"),
		Empty: "No policy matched a request in this period. Choose a longer one above, or look at Sources to see whether events arrive.",
	}
	type key struct{ cluster, name string }
	type one struct {
		stopped, workloads, all, unknown int64
		team                             sink.Group // the last
	}
	all := map[key]*one{}
	at := func(g sink.Group) *one {
		k := key{g.Values[0], g.Values[1]}
		if all[k] == nil {
			all[k] = &one{}
		}
		return all[k]
	}
	results, err := collect(s.Reader.CountRollups(ctx, q.filter(), sink.Grouping{By: []string{"cluster", "namespace", "result", "team"}}))
	if err != nil {
		return v, err
	}
	for _, g := range results {
		at(g).all += g.Count
		if !g.Last.Before(at(g).team.Last) {
			at(g).team = g
		}
		if g.Values[2] == "Unknown" {
			at(g).unknown += g.Count
		}
	}
	stopped, err := collect(s.Reader.CountFailures(ctx, stopping(q.filter()), sink.Grouping{By: []string{"cluster", "namespace"}}))
	if err != nil {
		return v, err
	}
	for _, g := range stopped {
		at(g).stopped = g.Requests
	}
	workloads, err := collect(s.Reader.CountFailures(ctx, stopping(q.filter()), sink.Grouping{By: []string{"cluster", "namespace"}, Workloads: true}))
	if err != nil {
		return v, err
	}
	for _, g := range workloads {
		at(g).workloads = g.Workloads
	}
	names := make([]key, 0, len(all))
	for k := range all {
		names = append(names, k)
	}
	slices.SortFunc(names, func(a, b key) int {
		return cmp.Or(-cmp.Compare(all[a].stopped, all[b].stopped), cmp.Compare(a.name, b.name), cmp.Compare(a.cluster, b.cluster))
	})
	for _, k := range names[:min(len(names), maxNamespaces)] {
		name := cell{Text: "(cluster-scoped)", Class: "quiet"}
		if k.name != "" {
			name = linked(k.name, q.link("namespace", "cluster", k.cluster, "namespace", k.name))
		}
		name.Note = k.cluster
		n := all[k]
		t.Rows = append(t.Rows, []cell{name, teamCell(&q, lastTeam(n.team)), count(n.stopped), count(n.workloads), count(n.all), {Bar: newBar(percent(n.all-n.unknown, n.all), n.all,
			labelled{"ready", "decided", n.all - n.unknown}, labelled{"unknown", "unknown", n.unknown})}})
	}
	if len(names) > maxNamespaces {
		t.More = "The first " + number(maxNamespaces) + " of " + number(int64(len(names))) + " namespaces. Search for others."
	}
	v.Body = namespacesView{t}
	return v, nil
}

// lastTeam is the team of a group whose last value is one.
func lastTeam(g sink.Group) string {
	if len(g.Values) == 0 {
		return ""
	}
	return g.Values[len(g.Values)-1]
}

// teamCell leads to what there is of a team.
func teamCell(q *query, team string) cell {
	if team == "" {
		return cell{Text: "(none)", Class: "quiet"}
	}
	return linked(team, q.link("namespaces", "team", team))
}

type namespaceView struct {
	Team                                  cell
	Answer                                string
	Readiness, Workloads, Users, Messages table
	Unknowns                              table
	Trend                                 *chart
	Changes                               table
	Coverage                              *bar
	Legend                                []legend
	Requests, New                         string
}

// namespace answers the four questions for one namespace.
func namespace(ctx context.Context, s *server, q query) (view, error) {
	name := q.get("namespace")
	v := view{Title: "Namespace " + short(plain(name), 160), Crumbs: []crumb{{"Overview", q.link("")}, {"Namespaces", q.link("namespaces")}}}
	if name == "" {
		return v, wrong("Which namespace? Choose one in the list of namespaces.")
	}
	f := q.filter()
	f.Namespace = name
	all, err := s.Reader.Readiness(ctx, f, s.Criteria)
	if err != nil {
		return v, err
	}
	matched := slices.DeleteFunc(all, func(r sink.Readiness) bool { return r.Matched == 0 && r.WouldFail == 0 })
	b := namespaceView{
		Answer: answer(matched), Readiness: readinessTable(&q, matched, "Policies that matched requests in this namespace"),
		Changes: changes(&q, matched), Coverage: totalCoverage(matched), Legend: coverageLegend,
		Requests: q.link("search", "namespace", name, "result", "stopped"), New: q.link("search", "namespace", name, "result", "new"),
	}
	if b.Team, err = teamOf(ctx, s.Reader, &q, f); err != nil {
		return v, err
	}
	for _, fill := range []struct {
		table *table
		make  func(context.Context, Reader, *query, sink.Filter) (table, error)
	}{{&b.Workloads, workloadsTable}, {&b.Users, usersTable}, {&b.Messages, messagesTable}, {&b.Unknowns, unknownsTable}} {
		if *fill.table, err = fill.make(ctx, s.Reader, &q, f); err != nil {
			return v, err
		}
	}
	b.Trend, err = trend(ctx, s.Reader, f, "Requests in this namespace that a policy would have stopped, or of which it is not known")
	v.Body = b
	return v, err
}

// teamOf is the team that a namespace belonged to last.
func teamOf(ctx context.Context, r Reader, q *query, f sink.Filter) (cell, error) {
	f.Team = ""
	var last sink.Group
	for g, err := range r.CountRollups(ctx, f, sink.Grouping{By: []string{"team"}}) {
		if err != nil {
			return cell{}, err
		}
		if !g.Last.Before(last.Last) {
			last = g
		}
	}
	return teamCell(q, lastTeam(last)), nil
}
