package web

import (
	"context"

	"github.com/vapshadow/vapshadow/sink"
)

type workloadView struct {
	Cluster, Namespace, Kind, Name string
	NamespaceLink                  string
	Answer                         string
	Policies, Users, Messages      table
	Trend                          *chart
	Requests                       requestsView
	Unknowns                       table
	Texts                          table
}

// workload answers the four questions for what owns objects that fail.
func workload(ctx context.Context, s *server, q query) (view, error) {
	b := workloadView{Cluster: q.Cluster, Namespace: q.get("namespace"), Kind: q.get("kind"), Name: q.get("name")}
	v := view{Title: short(plain(b.Kind), 160) + " " + short(plain(b.Name), 160), Crumbs: []crumb{{"Overview", q.link("")}, {"Namespaces", q.link("namespaces")}}}
	if b.Kind == "" || b.Name == "" {
		return v, wrong("Which workload? Choose one on the page of a policy or a namespace.")
	}
	f := q.filter()
	f.Namespace, f.WorkloadKind, f.WorkloadName = b.Namespace, b.Kind, b.Name
	if b.Namespace != "" {
		b.NamespaceLink = q.link("namespace", "namespace", b.Namespace)
		v.Crumbs = append(v.Crumbs, crumb{short(plain(b.Namespace), 160), b.NamespaceLink})
	}
	var err error
	for _, fill := range []struct {
		table *table
		make  func(context.Context, Reader, *query, sink.Filter) (table, error)
	}{{&b.Policies, stoppersTable}, {&b.Users, usersTable}, {&b.Messages, messagesTable}, {&b.Unknowns, unknownsTable}, {&b.Texts, textsTable}} {
		if *fill.table, err = fill.make(ctx, s.Reader, &q, f); err != nil {
			return v, err
		}
	}
	switch n := int64(len(b.Policies.Rows)); {
	case n > 0:
		b.Answer = several(n, "policy", "policies") + " would stop this workload, were they enforced."
	default:
		b.Answer = "No policy is known to stop this workload in this period."
	}
	if b.Trend, err = trend(ctx, s.Reader, f, "Requests for this workload that a policy would have stopped, or of which it is not known"); err != nil {
		return v, err
	}
	b.Requests, err = requests(ctx, s.Reader, &q, f, "workload")
	v.Body = b
	return v, err
}

// stoppersTable lists the policies that would have stopped requests.
func stoppersTable(ctx context.Context, r Reader, q *query, f sink.Filter) (table, error) {
	t := table{Caption: "Policies", Head: heads("Policy", "#Requests stopped", "#New", "First (UTC)", "Last (UTC)"), Empty: "None."}
	found, err := newGroups(ctx, r, stopping(f), "cluster", "policy", "binding")
	for _, g := range found {
		name := linked(g.Values[1], q.link("policy", "cluster", g.Values[0], "policy", g.Values[1]))
		name.Note = g.Values[2]
		t.Rows = append(t.Rows, []cell{name, count(g.Requests), count(g.New), when(g.First), when(g.Last)})
	}
	t.cutTop("policies")
	return t, err
}

// textsTable says which texts of the policies failed a workload, and until when.
func textsTable(ctx context.Context, r Reader, q *query, f sink.Filter) (table, error) {
	t := table{Caption: "By the text of the policy", Head: heads("Policy", "Text", "#Requests stopped", "First (UTC)", "Last (UTC)"), Empty: "None."}
	found, err := groups(ctx, r, stopping(f), "policy", "policy_hash")
	for _, g := range found {
		t.Rows = append(t.Rows, []cell{
			linked(g.Values[0], q.link("policy", "policy", g.Values[0])+"#changed"), {Text: orNone(short(g.Values[1], 13), "(not known)"), Class: "code"},
			count(g.Requests), when(g.First), when(g.Last),
		})
	}
	t.cutTop("texts")
	return t, err
}
