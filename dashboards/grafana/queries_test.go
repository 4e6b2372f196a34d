package grafana_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// patience is how much work a person waits for, in time of a processor: what else the machine does is no matter.
const patience = 2 * time.Second

var choices = map[string]choice{
	"all": {},
	"some": {
		"cluster": {"prod", "(unnamed)"}, "policy": {"policy-0", "policy-3"}, "binding": {"binding-0", "binding-3"},
		"source": {"kafka"},
	},
	"narrow": {"namespace": {"(cluster-wide)", "team-7", "it's none"}},
}

// Every query of every panel and variable is asked as Grafana asks it, as the role that Grafana has.
func TestQueriesOnAMillionRollups(t *testing.T) {
	s := seed(t)
	// One process does all the work of a query, so that its time can be read.
	if _, err := s.reader.Exec(t.Context(), "SET max_parallel_workers_per_gather = 0; SET statement_timeout = '2min'"); err != nil {
		t.Fatal(err)
	}
	for _, d := range dashboards(t) {
		for _, v := range d.Templating.List {
			if v.Type == "query" {
				t.Run(d.UID+"/variable "+v.Name, func(t *testing.T) { checkChoices(t, s.ask(t, v.Query, d, nil)) })
			}
		}
		for _, p := range d.Panels {
			for name, c := range choices {
				if p.Targets[0].RawSQL != "" {
					t.Run(d.UID+"/"+p.Title+"/"+name, func(t *testing.T) { checkAnswer(t, p, s.ask(t, p.Targets[0].RawSQL, d, c)) })
				}
			}
		}
	}
	t.Run("choices are obeyed", func(t *testing.T) { checkTotals(t, s) })
	t.Run("a log that was compared twice counts once", func(t *testing.T) { checkCompared(t, s) })
}

// answer is what came back: the kind of each column by name, and the rows.
type answer struct {
	names []string
	kinds map[string]string
	rows  [][]any
}

func (s seeded) ask(t *testing.T, sql string, d dashboard, c choice) answer {
	t.Helper()
	began, worked := time.Now(), processorTime(t, s.reader.PgConn().PID())
	sql = asked(t, sql, d.Templating.List, c, s.from, s.to)
	rows, err := s.reader.Query(context.WithoutCancel(t.Context()), sql)
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	defer rows.Close()
	a := answer{kinds: map[string]string{}}
	for _, f := range rows.FieldDescriptions() {
		if a.kinds[f.Name] != "" {
			t.Errorf("column %s is there twice", f.Name)
		}
		a.names = append(a.names, f.Name)
		a.kinds[f.Name] = kind(f.DataTypeOID)
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		a.rows = append(a.rows, values)
	}
	if rows.Err() != nil {
		t.Fatalf("%v\n%s", rows.Err(), sql)
	}
	if len(a.rows) == 0 {
		t.Fatalf("no rows:\n%s", sql)
	}
	rows.Close()
	took := processorTime(t, s.reader.PgConn().PID()) - worked
	t.Logf("%s of a processor, %s in all, %d rows", took, time.Since(began).Round(time.Millisecond), len(a.rows))
	if took > patience {
		t.Errorf("took %s of a processor, which is more than %s:\n%s", took, patience, sql)
	}
	return a
}

func kind(oid uint32) string {
	switch oid {
	case pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID, pgtype.Float8OID:
		return "number"
	case pgtype.TimestamptzOID:
		return "time"
	case pgtype.TextOID:
		return "text"
	}
	return fmt.Sprintf("type %d", oid)
}

func checkChoices(t *testing.T, a answer) {
	t.Helper()
	if len(a.names) != 1 || a.kinds[a.names[0]] != "text" {
		t.Fatalf("want one column of text, not %v", a.kinds)
	}
	for _, row := range a.rows {
		if row[0] == "" || row[0] == nil {
			t.Error("one choice is empty, which nobody can choose")
		}
	}
}

func checkAnswer(t *testing.T, p panel, a answer) {
	t.Helper()
	switch p.Type {
	case "stat":
		if len(a.rows) != 1 || len(a.names) != 1 || a.kinds[a.names[0]] != "number" || a.rows[0][0] == nil {
			t.Errorf("a stat shows one number, not %v: %v", a.kinds, a.rows)
		}
	case "timeseries":
		checkSeries(t, p, a)
	case "table":
		checkTable(t, p, a)
	default:
		t.Errorf("these tests do not know what a panel of type %s needs", p.Type)
	}
}

// checkSeries wants what Grafana makes lines of: a time, in order; perhaps a name; a number.
func checkSeries(t *testing.T, p panel, a answer) {
	t.Helper()
	if p.Targets[0].Format != "time_series" || len(a.names) != 3 || a.names[0] != "time" || a.names[1] != "metric" ||
		a.kinds["time"] != "time" || a.kinds["metric"] != "text" || a.kinds[a.names[2]] != "number" {
		t.Fatalf("want time, metric and a number as time_series, not %v %v", a.names, a.kinds)
	}
	var last time.Time
	for _, row := range a.rows {
		at := row[0].(time.Time)
		if at.Before(last) {
			t.Fatalf("times are not in order: %s after %s", at, last)
		}
		last = at
	}
}

var field = regexp.MustCompile(`__data\.fields\.(\w+)`)

// checkTable wants the columns that overrides and links name, of kinds that their units can show.
func checkTable(t *testing.T, p panel, a answer) {
	t.Helper()
	for name, kind := range a.kinds {
		if kind != "number" && kind != "time" && kind != "text" {
			t.Errorf("column %s: Grafana does not show %s", name, kind)
		}
	}
	dated := map[string]bool{}
	for _, o := range p.FieldConfig.Overrides {
		if a.kinds[o.Matcher.Options] == "" {
			t.Errorf("there is no column %s", o.Matcher.Options)
		}
		for _, property := range o.Properties {
			if property.ID == "unit" {
				var unit string
				if err := json.Unmarshal(property.Value, &unit); err != nil {
					t.Fatal(err)
				}
				want := "number"
				if dated[o.Matcher.Options] = strings.HasPrefix(unit, "dateTime"); dated[o.Matcher.Options] {
					want = "time"
				}
				if a.kinds[o.Matcher.Options] != want {
					t.Errorf("column %s is a %s, and its unit is %s", o.Matcher.Options, a.kinds[o.Matcher.Options], unit)
				}
			}
		}
	}
	for _, name := range a.names {
		if a.kinds[name] == "time" && !dated[name] {
			t.Errorf("column %s is a time without a unit of times", name)
		}
	}
	for _, url := range linksOf(t, p) {
		for _, m := range field.FindAllStringSubmatch(url, -1) {
			if !slices.Contains(a.names, m[1]) {
				t.Errorf("%s: there is no column %s", url, m[1])
			}
		}
	}
}

// checkTotals compares what a panel counts with what is in the table, for choices that are easy to get wrong.
func checkTotals(t *testing.T, s seeded) {
	t.Helper()
	all := dashboards(t)
	d := all[slices.IndexFunc(all, func(d dashboard) bool { return d.UID == "vapshadow-overview" })]
	p := d.Panels[slices.IndexFunc(d.Panels, func(p panel) bool { return p.Title == "Evaluations" })]
	for where, c := range map[string]choice{
		"true":                        {},
		"cluster = ''":                {"cluster": {"(unnamed)"}},
		"namespace = ''":              {"namespace": {"(cluster-wide)"}},
		"namespace IN ('', 'team-7')": {"namespace": {"(cluster-wide)", "team-7"}},
		"cluster = 'prod' AND policy = 'policy-3'":   {"cluster": {"prod"}, "policy": {"policy-3"}},
		"binding = 'binding-4' AND cluster = 'prod'": {"cluster": {"prod"}, "binding": {"binding-4"}},
	} {
		var want int64
		if err := s.owner.QueryRow(t.Context(), "SELECT sum(count)::bigint FROM vapshadow.rollups WHERE "+where).Scan(&want); err != nil {
			t.Fatal(err)
		}
		have, err := s.ask(t, p.Targets[0].RawSQL, d, c).rows[0][0].(pgtype.Numeric).Int64Value()
		if err != nil || have.Int64 != want || want == 0 {
			t.Errorf("%v: the panel counts %d, the table has %d (%v)", c, have.Int64, want, err)
		}
	}
}

// checkCompared: of two runs on each of 90 logs, one counts.
func checkCompared(t *testing.T, s seeded) {
	t.Helper()
	all := dashboards(t)
	d := all[slices.IndexFunc(all, func(d dashboard) bool { return d.UID == "vapshadow-agreement" })]
	for title, test := range map[string]struct {
		c    choice
		want int64
	}{
		"Logs":               {nil, 90},
		"Decisions compared": {nil, 90 * 20 * 35},
		"Disagreements":      {choice{"policy": {"policy-4"}, "cluster": {"prod"}}, 30},
		"Both fail":          {choice{"binding": {"(none)"}, "cluster": {"(unnamed)"}}, 30 * 4},
		"Not comparable":     {choice{"policy": {"policy-4"}}, 90 * 9},
	} {
		p := d.Panels[slices.IndexFunc(d.Panels, func(p panel) bool { return p.Title == title })]
		got := s.ask(t, p.Targets[0].RawSQL, d, test.c).rows[0][0]
		if n, ok := got.(pgtype.Numeric); ok {
			whole, err := n.Int64Value()
			if err != nil {
				t.Fatal(err)
			}
			got = whole.Int64
		}
		if got != test.want {
			t.Errorf("%s of %v: %v, want %d", title, test.c, got, test.want)
		}
	}
}
