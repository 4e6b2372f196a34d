package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// The workload of a failure: what owns the object, or the object itself where nothing does.
const (
	WorkloadKind = "CASE WHEN owner_name <> '' THEN owner_kind ELSE kind END"
	WorkloadName = "CASE WHEN owner_name <> '' THEN owner_name ELSE name END"
)

// Stopping is the condition of sink.Filter's Stopping.
const Stopping = "(result = 'Fail' OR (result = 'Error' AND NOT ignored))"

// New is the condition of sink.Filter's New.
const New = "NOT repeats"

// Dialect is what databases write differently.
type Dialect struct {
	// Schema stands before the name of a view.
	Schema string
	// Text, Number, Bool and List turn a column of a type into a text, which is ordered by its bytes.
	Text, Number, Bool, List func(column string) string
	// Span is the second (Unix time) that the span of a number of seconds begins with.
	Span func(column string, seconds int64) string
	// Request tells the admission requests among failures apart.
	Request string
}

// CountSQL is the query of sink.Counter. Its columns are the texts of Grouping.By, the span, the count, the requests, the new
// ones of them, the sample, and the first and the last time.
func CountSQL[T any](t *Table[T], d Dialect, where string, g sink.Grouping) (string, error) {
	if g.Every%time.Second != 0 || g.Every < 0 {
		return "", fmt.Errorf("counting %s: spans of %s are not whole seconds", t.View, g.Every)
	}
	var columns, places []string
	for i, name := range g.By {
		expression, err := t.text(d, name)
		if err != nil {
			return "", err
		}
		columns = append(columns, expression)
		places = append(places, fmt.Sprint(i+1))
	}
	span, count, requests, sample := "0", "count(*)", "count(DISTINCT "+d.Request+")", "min("+d.Text("audit_id")+")"
	fresh := "0"
	if g.New && t.Has("repeats") {
		fresh = "count(DISTINCT " + d.Request + ") FILTER (WHERE " + New + ")"
	}
	if t.Has("count") {
		count, requests, sample = "CAST(sum(count) AS bigint)", "0", "''"
	}
	if g.Every > 0 {
		span = d.Span(t.Time, int64(g.Every/time.Second))
		places = append(places, fmt.Sprint(len(g.By)+1))
	}
	columns = append(columns, span, count, requests, fresh, sample, "min("+t.Time+")", "max("+t.Time+")")
	query := "SELECT " + strings.Join(columns, ", ") + " FROM " + d.Schema + t.View + where
	if len(places) > 0 {
		query += " GROUP BY " + strings.Join(places, ", ")
	}
	return query + " HAVING count(*) > 0 ORDER BY " + order(g) + limit(g.Limit), nil
}

// order puts the spans first, then what counts most. It names the places of the columns.
func order(g sink.Grouping) string {
	n := len(g.By)
	var by []string
	if g.Every > 0 {
		by = append(by, fmt.Sprint(n+1))
	}
	by = append(by, fmt.Sprintf("%d DESC", n+3), fmt.Sprintf("%d DESC", n+2))
	for i := range g.By {
		by = append(by, fmt.Sprint(i+1))
	}
	return strings.Join(by, ", ")
}

func limit(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" LIMIT %d", n)
}

// text is a column as a text. A name that is none of the table's is refused: it would be part of a query.
func (t *Table[T]) text(d Dialect, name string) (string, error) {
	switch {
	case name == "workload_kind" && t.Has("owner_name"):
		return d.Text(WorkloadKind), nil
	case name == "workload_name" && t.Has("owner_name"):
		return d.Text(WorkloadName), nil
	}
	i := slices.IndexFunc(t.Columns, func(c Column[T]) bool { return c.Name == name })
	if i < 0 {
		return "", fmt.Errorf("counting %s: there is no column %q", t.View, name)
	}
	switch t.Columns[i].Field(new(T)).(type) {
	case *string:
		return d.Text(name), nil
	case *bool:
		return d.Bool(name), nil
	case *[]string:
		return d.List(name), nil
	case *int32, *int64:
		return d.Number(name), nil
	default:
		return "", fmt.Errorf("counting %s: %s cannot be grouped by", t.View, name)
	}
}
