package web

import (
	"context"
	"strings"

	"github.com/vapshadow/vapshadow/sink"
)

const nobody = "Nobody: no request would have been stopped in this period."

// namespacesTable lists whose requests would have been stopped, by namespace.
func namespacesTable(ctx context.Context, r Reader, q *query, f sink.Filter) (table, error) {
	t := table{Caption: "Namespaces", Head: heads("Namespace", "#Requests stopped", "#New", "Last (UTC)"), Empty: nobody}
	found, err := newGroups(ctx, r, stopping(f), "cluster", "namespace")
	for _, g := range found {
		name := cell{Text: "(cluster-scoped)", Class: "quiet", Link: q.link("search", "cluster", g.Values[0], "policy", f.Policy, "result", "stopped")}
		if g.Values[1] != "" {
			name = linked(g.Values[1], q.link("namespace", "cluster", g.Values[0], "namespace", g.Values[1]))
		}
		name.Note = g.Values[0]
		t.Rows = append(t.Rows, []cell{name, count(g.Requests), count(g.New), when(g.Last)})
	}
	t.cutTop("namespaces")
	return t, err
}

// usersTable lists who made the requests.
func usersTable(ctx context.Context, r Reader, q *query, f sink.Filter) (table, error) {
	t := table{Caption: "Users", Head: heads("User", "#Requests stopped", "Last (UTC)"), Empty: nobody}
	found, err := groups(ctx, r, stopping(f), "username")
	for _, g := range found {
		name := linked(orNone(g.Values[0], "(no name)"), q.link("search", "user", g.Values[0], "policy", f.Policy, "namespace", f.Namespace, "result", "stopped"))
		if isSystem(g.Values[0]) {
			name.Note = "a part of Kubernetes"
		}
		t.Rows = append(t.Rows, []cell{name, count(g.Requests), when(g.Last)})
	}
	t.cutTop("users")
	return t, err
}

// isSystem says whether a user is a part of Kubernetes, as readiness does: a component, a node, a service account of
// kube-system.
func isSystem(user string) bool {
	account := strings.HasPrefix(user, "system:serviceaccount:")
	return strings.HasPrefix(user, "system:") && user != "system:anonymous" && (!account || strings.HasPrefix(user, "system:serviceaccount:kube-system:"))
}

// workloadsTable lists what owns the objects that would have been stopped.
func workloadsTable(ctx context.Context, r Reader, q *query, f sink.Filter) (table, error) {
	t := table{Caption: "Workloads", Head: heads("Workload", "Namespace", "#Requests stopped", "#New", "First (UTC)", "Last (UTC)"), Empty: nobody}
	found, err := newGroups(ctx, r, stopping(f), "cluster", "namespace", "workload_kind", "workload_name")
	for _, g := range found {
		cluster, ns, kind, name := g.Values[0], g.Values[1], g.Values[2], g.Values[3]
		w := linked(kind+" "+orNone(name, "(generated name)"), q.link("workload", "cluster", cluster, "namespace", ns, "kind", kind, "name", name))
		if name == "" {
			w.Link = q.link("search", "cluster", cluster, "namespace", ns, "policy", f.Policy, "result", "stopped")
		}
		w.Note = cluster
		where := cell{Text: "(cluster-scoped)", Class: "quiet"}
		if ns != "" {
			where = linked(ns, q.link("namespace", "cluster", cluster, "namespace", ns))
		}
		t.Rows = append(t.Rows, []cell{w, where, count(g.Requests), count(g.New), when(g.First), when(g.Last)})
	}
	t.cutTop("workloads")
	return t, err
}

// messagesTable lists what the apiserver would say, by validation.
func messagesTable(ctx context.Context, r Reader, q *query, f sink.Filter) (table, error) {
	t := table{Caption: "Messages", Head: heads("Message", "Validation", "Result", "#Requests stopped", "For example"), Empty: nobody}
	found, err := groups(ctx, r, stopping(f), "policy", "expression_index", "result", "message")
	for _, g := range found {
		policy := cell{Text: validation(g.Values[1]), Class: "fixed"}
		if f.Policy == "" {
			policy = linked(g.Values[0], q.link("policy", "policy", g.Values[0]))
			policy.Note = validation(g.Values[1])
		}
		t.Rows = append(t.Rows, []cell{
			{Text: short(orNone(g.Values[3], "(no message)"), 300), Class: "message"}, policy, {Pill: resultPill(g.Values[2])}, count(g.Requests),
			linked("one request", q.link("decision", "audit", g.Sample)),
		})
	}
	t.cutTop("messages")
	return t, err
}

// validation names the validation of a row.
func validation(index string) string {
	if index == "-1" {
		return "the evaluation as a whole"
	}
	return "validations[" + index + "]"
}

func resultPill(result string) *pill {
	switch result {
	case "Fail":
		return &pill{"Fail", "fail"}
	case "Error":
		return &pill{"Error", "error"}
	case "Pass":
		return &pill{"Pass", "ready"}
	default:
		return &pill{short(orNone(plain(result), "(none)"), 24), "unknown"}
	}
}
