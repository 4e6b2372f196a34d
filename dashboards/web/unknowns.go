package web

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/dashboards/report"
	"github.com/vapshadow/vapshadow/sink"
)

// unknown are the verdicts that hang on what is not known.
func unknown(f sink.Filter) sink.Filter {
	f.Results = []string{"Unknown"}
	return f
}

// maxReasons bounds the groups that the reasons are made from: resources, times reasons.
const maxReasons = 2000

// unknownsTable says what to log, or to give, for what is unknown to be decided, what helps most first.
func unknownsTable(ctx context.Context, r Reader, q *query, f sink.Filter) (table, error) {
	t := table{
		Caption: "Why, and what decides it", Head: heads("Reason", "What to do", "#Requests"),
		Empty: "Nothing is unknown: each request that a policy matched is decided.",
	}
	found, err := collect(r.CountFailures(ctx, unknown(f), sink.Grouping{By: []string{"because", "api_group", "resource", "sub_resource"}, Limit: maxReasons}))
	if err != nil {
		return t, err
	}
	type reason struct {
		because   string
		resources []string
		requests  int64
	}
	var reasons []*reason
	for _, g := range found {
		i := slices.IndexFunc(reasons, func(r *reason) bool { return r.because == g.Values[0] })
		if i < 0 {
			i = len(reasons)
			reasons = append(reasons, &reason{because: g.Values[0]})
		}
		reasons[i].requests += g.Requests
		reasons[i].resources = append(reasons[i].resources, resourceName(g.Values[1], g.Values[2], g.Values[3]))
	}
	slices.SortStableFunc(reasons, func(a, b *reason) int { return -cmp.Compare(a.requests, b.requests) })
	for _, reason := range reasons {
		slices.Sort(reason.resources)
		do := report.Remedy(reason.because, strings.Join(reason.resources, ", "))
		link := q.link("search", "because", reason.because, "policy", f.Policy, "namespace", f.Namespace, "result", "Unknown")
		t.Rows = append(t.Rows, []cell{linked(orNone(reason.because, "(no reason)"), link), {Text: short(orNone(do, "nothing is known that would"), 400)}, count(reason.requests)})
	}
	return t, nil
}

func resourceName(group, resource, sub string) string {
	if group != "" {
		resource += "." + group
	}
	if sub != "" {
		resource += "/" + sub
	}
	return resource
}

// attributesTable says what the verdicts hang on.
func attributesTable(ctx context.Context, r Reader, q *query, f sink.Filter) (table, error) {
	t := table{
		Caption: "What the verdicts hang on", Head: heads("Attribute", "Reason", "Policy", "#Requests", "For example"),
		Empty: "No verdict hangs on an attribute.",
	}
	found, err := groups(ctx, r, unknown(f), "unknown_attributes", "because", "policy", "expression_index")
	for _, g := range found {
		attributes := strings.Split(g.Values[0], ", ")
		slices.Sort(attributes)
		policy := linked(g.Values[2], q.link("policy", "policy", g.Values[2]))
		policy.Note = validation(g.Values[3])
		t.Rows = append(t.Rows, []cell{
			{Text: orNone(strings.Join(slices.Compact(attributes), ", "), "(all of it)"), Class: "code"}, text(g.Values[1]), policy, count(g.Requests),
			linked("one request", q.link("decision", "audit", g.Sample)),
		})
	}
	t.cutTop("attributes")
	return t, err
}

type unknownsView struct {
	Coverage    *bar
	Legend      []legend
	Trend       *chart
	Reasons     table
	Attributes  table
	ByNamespace table
}

// decided are the evaluations of all policies together, as the readiness counts them.
func decided(matched []sink.Group) []sink.Readiness {
	var sum sink.Readiness
	for _, g := range matched {
		sum.Matched += g.Count
		switch result, evidence := g.Values[0], g.Values[1]; {
		case result == "Unknown":
			sum.Unknown += g.Count
		case evidence == "Exact":
			sum.DecidedExact += g.Count
		case evidence == "Presumed":
			sum.DecidedPresumed += g.Count
		default:
			sum.DecidedOtherwise += g.Count
		}
	}
	return []sink.Readiness{sum}
}

// unknowns answers: what has to be logged, for all to be decided?
func unknowns(ctx context.Context, s *server, q query) (view, error) {
	v := view{Title: "Unknowns", Crumbs: []crumb{{"Overview", q.link("")}}}
	f := q.filter()
	matched, err := collect(s.Reader.CountRollups(ctx, f, sink.Grouping{By: []string{"result", "evidence"}}))
	if err != nil {
		return v, err
	}
	b := unknownsView{Coverage: totalCoverage(decided(matched)), Legend: coverageLegend}
	if b.Reasons, err = unknownsTable(ctx, s.Reader, &q, f); err != nil {
		return v, err
	}
	if b.Attributes, err = attributesTable(ctx, s.Reader, &q, f); err != nil {
		return v, err
	}
	if b.Trend, err = trend(ctx, s.Reader, unknown(f), "Requests of which a verdict is not known"); err != nil {
		return v, err
	}
	b.ByNamespace = table{Caption: "Where", Head: heads("Namespace", "#Requests"), Empty: "Nowhere: nothing is unknown."}
	found, err := groups(ctx, s.Reader, unknown(f), "cluster", "namespace")
	for _, g := range found {
		name := cell{Text: "(cluster-scoped)", Class: "quiet"}
		if g.Values[1] != "" {
			name = linked(g.Values[1], q.link("namespace", "cluster", g.Values[0], "namespace", g.Values[1]))
		}
		b.ByNamespace.Rows = append(b.ByNamespace.Rows, []cell{name, count(g.Requests)})
	}
	b.ByNamespace.cutTop("namespaces")
	v.Body = b
	return v, err
}
