package web

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// query is what a request asks for.
type query struct {
	values url.Values
	// Since and Until bound the period; zero for no bound. Newest is the last minute that the store has.
	Since, Until, Newest time.Time
	Period               string
	Page                 int
	Cluster, Team        string
}

// periods are what a person chooses from, counted back from the newest data.
var periods = []struct {
	Name, Label string
	Length      time.Duration
}{
	{"1d", "last day", 24 * time.Hour},
	{"7d", "last 7 days", 7 * 24 * time.Hour},
	{"30d", "last 30 days", 30 * 24 * time.Hour},
	{"all", "all that is stored", 0},
}

const (
	defaultPeriod = "30d"
	// perPage is how many rows a page has, maxPage how far one can go on; top is how many groups a table has.
	perPage, maxPage, top = 50, 200, 25
	// maxValue is the longest value of a filter. No name in Kubernetes is as long.
	maxValue = 1024
)

// query reads a request's query string.
func (s *server) query(ctx context.Context, r *http.Request) (query, error) {
	q := query{values: r.URL.Query(), Page: 1}
	for name, values := range q.values {
		for _, v := range values {
			if len(v) > maxValue {
				return q, wrong("The value of %s is longer than %d bytes.", name, maxValue)
			}
		}
	}
	q.Period, q.Cluster, q.Team = q.get("period"), q.get("cluster"), q.get("team")
	if q.Period == "" {
		q.Period = defaultPeriod
	}
	if text := q.get("page"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			return q, wrong("page has to be a number from 1 to %d. To see what is further on, choose a shorter period.", maxPage)
		}
		q.Page = n
	}
	for row, err := range s.Reader.Rollups(ctx, sink.Filter{Cluster: q.Cluster, Newest: true, Limit: 1}) {
		if err != nil {
			return q, err
		}
		q.Newest = row.Minute
	}
	return q, q.bound()
}

// bound sets the period.
func (q *query) bound() error {
	for _, b := range []struct {
		name string
		at   *time.Time
	}{{"from", &q.Since}, {"to", &q.Until}} {
		if text := q.get(b.name); text != "" {
			at, err := parseTime(text)
			if err != nil {
				return wrong("%s has to be a time in UTC such as 2026-11-21T06:00 or 2026-11-21, not %q.", b.name, text)
			}
			*b.at = at
		}
	}
	if !q.Since.IsZero() || !q.Until.IsZero() {
		if !q.Until.IsZero() && !q.Since.Before(q.Until) {
			return wrong("The period ends before it begins.")
		}
		q.Period = ""
		return nil
	}
	i := slices.IndexFunc(periods, func(p struct {
		Name, Label string
		Length      time.Duration
	}) bool {
		return p.Name == q.Period
	})
	if i < 0 {
		return wrong("period has to be 1d, 7d, 30d or all.")
	}
	if length := periods[i].Length; length > 0 && !q.Newest.IsZero() {
		q.Since = q.Newest.Add(time.Minute - length)
		if length > 24*time.Hour {
			// Whole days (UTC) are counted once, and not again for each page.
			q.Since = q.Since.Truncate(24 * time.Hour)
		}
	}
	return nil
}

func parseTime(text string) (at time.Time, err error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if at, err = time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return at, err
}

func (q *query) get(name string) string { return q.values.Get(name) }

// filter has what narrows every page.
func (q *query) filter() sink.Filter {
	return sink.Filter{Cluster: q.Cluster, Team: q.Team, Since: q.Since, Until: q.Until}
}

// link is a page with the period, the cluster and the team of this one, and with names and values of its own. An empty value is left out.
func (q *query) link(page string, pairs ...string) string {
	values := url.Values{}
	for _, name := range []string{"period", "from", "to", "cluster", "team"} {
		if v := q.get(name); v != "" {
			values.Set(name, v)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Del(pairs[i])
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return address(page, values)
}

// Link is link for templates.
func (q query) Link(page string) string { return q.link(page) }

// Hidden are the values that a form has to carry on: all but those that it asks for itself.
func (q query) Hidden(asked ...string) (out []field) {
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if v := q.get(name); v != "" && name != "page" && !slices.Contains(asked, name) {
			out = append(out, field{Name: name, Value: v})
		}
	}
	return out
}

// Anytime is this page without from and to.
func (q query) Anytime() string { return q.without("from", "to") }

// AllTeams is this page without the team.
func (q query) AllTeams() string { return q.without("team") }

// without is this page without some values.
func (q query) without(names ...string) string {
	values := url.Values{}
	for _, f := range q.Hidden(names...) {
		values.Set(f.Name, f.Value)
	}
	return "?" + values.Encode()
}

// Span says the period in words.
func (q query) Span() string {
	switch {
	case q.Newest.IsZero():
		return "no data yet"
	case q.Since.IsZero() && q.Until.IsZero():
		return "all that is stored, up to " + minute(q.Newest)
	case q.Since.IsZero():
		return "up to " + minute(q.Until)
	case q.Until.IsZero():
		return minute(q.Since) + " to " + minute(q.Newest)
	default:
		return minute(q.Since) + " to " + minute(q.Until)
	}
}

// same is this page with other values.
func (q *query) same(page string, pairs ...string) string {
	values := url.Values{}
	for name := range q.values {
		if v := q.get(name); v != "" {
			values.Set(name, v)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return address(page, values)
}

// address is empty where it would be too long to be asked for.
func address(page string, values url.Values) string {
	for _, v := range values {
		if len(v[0]) > maxValue {
			return ""
		}
	}
	if len(values) == 0 {
		return "./" + page
	}
	out := "./" + page + "?" + values.Encode()
	if len(out) > maxURI-256 { // a proxy may put the page below another path
		return ""
	}
	return out
}
