package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/sink"
)

type decisionView struct {
	AuditID  string
	Requests []requestView
	// More: an event of a deletecollection may have any number of requests.
	More bool
}

// requestView is all that is stored of one admission request.
type requestView struct {
	Title       string
	Facts       []fact
	Workload    cell
	Verdicts    table
	Annotations table
	Answer      string
	Pill        *pill
	failures    []sink.Failure
}

// maxRows is how many rows of one audit ID a page shows.
const maxRows = 500

// decision shows all that is stored of one audit ID.
func decision(ctx context.Context, s *server, q query) (view, error) {
	id := strings.TrimSpace(q.get("audit"))
	v := view{Timeless: true, Title: "Decision " + plain(short(id, 40)), Crumbs: []crumb{{"Overview", q.link("")}, {"Search", q.link("search")}}}
	if id == "" {
		return v, wrong("Which request? Search for one, or give its audit ID.")
	}
	f := sink.Filter{Cluster: q.Cluster, AuditID: id, Limit: maxRows + 1}
	rows, err := collect(s.Reader.Failures(ctx, f))
	if err != nil {
		return v, err
	}
	annotations, err := collect(s.Reader.Annotations(ctx, f))
	if err != nil {
		return v, err
	}
	b := decisionView{AuditID: id, More: len(rows) > maxRows || len(annotations) > maxRows}
	requests := map[string]*requestView{}
	var order []string
	at := func(p sink.Place) *requestView {
		key := fmt.Sprint(p.StageTimestamp.UnixMicro(), p.Cluster, "/", p.Item)
		if requests[key] == nil {
			order = append(order, key)
			requests[key] = &requestView{
				Title:       "What the policies say",
				Facts:       []fact{{"Time", moment(p.StageTimestamp), ""}, {"Cluster", orNone(p.Cluster, "(unnamed)"), ""}},
				Annotations: table{Caption: "Audit annotations that the apiserver would have written", Head: heads("Key", "Value"), Empty: "None."},
			}
		}
		return requests[key]
	}
	for _, row := range rows[:min(len(rows), maxRows)] {
		r := at(row.Place)
		r.failures = append(r.failures, row)
	}
	for _, a := range annotations[:min(len(annotations), maxRows)] {
		r := at(a.Place)
		r.Annotations.Rows = append(r.Annotations.Rows, []cell{{Text: a.Key, Class: "code"}, {Text: a.Value, Class: "code"}})
	}
	for _, key := range order {
		requests[key].describe(&q)
		b.Requests = append(b.Requests, *requests[key])
	}
	v.Body = b
	return v, nil
}

// describe fills in what all rows of a request have in common, and a row for each verdict.
func (r *requestView) describe(q *query) {
	r.Verdicts = table{Caption: "Verdicts that are no pass", Head: heads("Policy", "Validation", "Result", "Message", "How it is known", "As bound"), Empty: "None is stored: what was evaluated passed."}
	r.Answer, r.Pill = "No policy is known to stop this request.", &pill{"Not stopped", "ready"}
	if len(r.failures) == 0 {
		return
	}
	f := &r.failures[0]
	r.Title = f.Operation + " " + f.Kind + " " + orNone(f.Name, "(generated name)")
	r.Workload = linked(cmp.Or(f.OwnerKind, f.Kind)+" "+cmp.Or(f.OwnerName, f.Name), q.link("workload", "cluster", f.Cluster, "namespace", f.Namespace,
		"kind", cmp.Or(f.OwnerKind, f.Kind), "name", cmp.Or(f.OwnerName, f.Name)))
	r.Facts = append(r.Facts,
		fact{"Operation", f.Operation, ""},
		fact{"Resource", resourceName(f.Group, f.Resource, f.SubResource), f.Version},
		fact{"Kind", f.Kind, ""},
		fact{"Namespace", orNone(f.Namespace, "(none)"), ""},
		fact{"Name", orNone(f.Name, "(generated name)"), ""},
		fact{"User", orNone(f.Username, "(no name)"), strings.Join(f.Groups, ", ")},
		fact{"User agent", orNone(f.UserAgent, "(none)"), ""},
		fact{"Response code", fmt.Sprint(f.Code), dryRun(f.DryRun)})
	var stoppers, open []string
	for i := range r.failures {
		f := &r.failures[i]
		if (f.Result == "Fail" || f.Result == "Error" && !f.Ignored) && !slices.Contains(stoppers, f.Policy) {
			stoppers = append(stoppers, f.Policy)
		}
		if f.Result == "Unknown" && !slices.Contains(open, f.Policy) {
			open = append(open, f.Policy)
		}
		r.Verdicts.Rows = append(r.Verdicts.Rows, verdictRow(q, f))
	}
	if n := int64(len(open)); n > 0 {
		r.Answer = "No policy is known to stop this request; of " + several(n, "policy", "policies") + " it is not known."
		r.Pill = &pill{"Not known", "unknown"}
	}
	if n := int64(len(stoppers)); n > 0 {
		r.Answer, r.Pill = several(n, "policy", "policies")+" would stop this request, were the bindings set to [Deny].", &pill{"Would be stopped", "fail"}
	}
}

func verdictRow(q *query, f *sink.Failure) []cell {
	policy := linked(f.Policy, q.link("policy", "cluster", f.Cluster, "policy", f.Policy))
	policy.Note = f.Binding
	if f.ParamsName != "" {
		policy.Note += " with params " + strings.TrimPrefix(f.ParamsNamespace+"/"+f.ParamsName, "/")
	}
	message := cell{Text: f.Message, Class: "message", Note: f.Reason}
	known := cell{Text: f.Evidence}
	if f.Result == "Unknown" {
		message = cell{Text: f.Message, Class: "message"}
		attributes := slices.Compact(slices.Sorted(slices.Values(f.Unknown)))
		known = cell{Text: f.Because, Note: "hangs on " + orNone(strings.Join(attributes, ", "), "all of it")}
	}
	effect := cell{Text: orNone(f.Effect, "nothing"), Note: "[" + strings.Join(f.ValidationActions, ", ") + "]"}
	return []cell{policy, {Text: validation(fmt.Sprint(f.ExpressionIndex)), Class: "fixed"}, {Pill: failurePill(f), Note: repeats(f)}, message, known, effect}
}

func dryRun(yes bool) string {
	if yes {
		return "dry run"
	}
	return ""
}
