package web

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// requestsView is a page of rows, newest first.
type requestsView struct {
	Table          table
	Page           int
	Earlier, Later string
}

// requests lists failures, newest first, page by page.
func requests(ctx context.Context, r Reader, q *query, f sink.Filter, page string) (requestsView, error) {
	f.Newest, f.Limit, f.Offset = true, perPage+1, (q.Page-1)*perPage
	v := requestsView{Page: q.Page, Table: table{
		Caption: "Requests, the latest first", Head: heads("Time (UTC)", "Result", "Policy", "Object", "User", "Message"),
		Empty: "Nothing that is stored is like this. Passes are only counted: of a request that every policy let through there is no row.",
	}}
	rows, err := collect(r.Failures(ctx, f))
	if err != nil {
		return v, err
	}
	if len(rows) > perPage {
		rows = rows[:perPage]
		if q.Page < maxPage {
			v.Earlier = q.same(page, "page", number(int64(q.Page+1)))
		} else {
			v.Table.More = "This is as far as one can go on. To see earlier ones, choose a period that ends earlier."
		}
	}
	if q.Page > 1 {
		v.Later = q.same(page, "page", number(int64(q.Page-1)))
	}
	for i := range rows {
		v.Table.Rows = append(v.Table.Rows, requestRow(q, &rows[i]))
	}
	return v, nil
}

func requestRow(q *query, f *sink.Failure) []cell {
	object := cell{Text: f.Kind + " " + orNone(f.Name, "(generated name)"), Note: f.Operation + " in " + orNone(f.Namespace, "no namespace")}
	policy := linked(f.Policy, q.link("policy", "cluster", f.Cluster, "policy", f.Policy))
	policy.Note = f.Binding
	message := cell{Text: short(f.Message, 300), Class: "message"}
	if f.Result == "Unknown" {
		message = cell{Text: f.Because, Note: strings.Join(slices.Compact(slices.Sorted(slices.Values(f.Unknown))), ", ")}
	}
	return []cell{
		{
			Text: f.StageTimestamp.UTC().Format("2006-01-02 15:04:05"), Class: "fixed",
			Link: q.link("decision", "cluster", f.Cluster, "audit", f.AuditID),
		},
		{Pill: failurePill(f), Note: repeats(f)}, policy, object, {Text: f.Username}, message,
	}
}

// repeats says of a failure that it is none of the request's own making.
func repeats(f *sink.Failure) string {
	if f.Repeats {
		return "repeats"
	}
	return ""
}

func failurePill(f *sink.Failure) *pill {
	switch {
	case f.BlocksAnyway:
		return &pill{"Blocks anyway", "misconfigured"}
	case f.Result == "Error" && f.Ignored:
		return &pill{"Error, ignored", "unknown"}
	default:
		return resultPill(f.Result)
	}
}

type searchView struct {
	Fields  []field
	Results []option
	// Asked: something was asked for.
	Asked    bool
	Requests requestsView
}

type field struct{ Name, Label, Value string }

type option struct {
	Value, Label string
	Selected     bool
}

// search finds rows by audit ID, namespace, name, user …
func search(ctx context.Context, s *server, q query) (view, error) {
	v := view{Title: "Search", Crumbs: []crumb{{"Overview", q.link("")}}}
	f := q.filter()
	b := searchView{}
	for _, one := range []struct {
		name, label string
		to          *string
	}{
		{"audit", "Audit ID", &f.AuditID}, {"policy", "Policy", &f.Policy}, {"namespace", "Namespace", &f.Namespace},
		{"name", "Name of the object", &f.Name}, {"user", "User", &f.Username}, {"because", "Reason of an unknown", &f.Because},
	} {
		*one.to = strings.TrimSpace(q.get(one.name))
		b.Asked = b.Asked || *one.to != ""
		b.Fields = append(b.Fields, field{one.name, one.label, *one.to})
	}
	result := q.get("result")
	b.Asked = b.Asked || result != ""
	for _, o := range []option{
		{"", "any", false}, {"stopped", "would be stopped", false}, {"new", "would be stopped, and is new", false}, {"Fail", "Fail", false}, {"Error", "Error", false}, {"Unknown", "Unknown", false},
	} {
		o.Selected = o.Value == result
		b.Results = append(b.Results, o)
	}
	switch result {
	case "":
	case "stopped":
		f.Stopping = true
	case "new":
		f.Stopping, f.New = true, true
	case "Fail", "Error", "Unknown":
		f.Results = []string{result}
	default:
		return v, wrong("result has to be stopped, new, Fail, Error or Unknown.")
	}
	if f.AuditID != "" {
		f.Since, f.Until = time.Time{}, time.Time{} // An audit ID says enough.
	}
	var err error
	b.Requests, err = requests(ctx, s.Reader, &q, f, "search")
	v.Body = b
	return v, err
}
