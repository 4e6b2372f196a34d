package connect_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/vapshadow/vapshadow/internal/pgtest"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
	"github.com/vapshadow/vapshadow/sink/sinktest"
)

// TestViewsOfBothStores: what dashboards read has the same names, columns and rows in both stores.
func TestViewsOfBothStores(t *testing.T) {
	pgURL, file := pgtest.New(t), filepath.Join(t.TempDir(), "a.db")
	b := viewSample()
	for _, url := range []string{pgURL, "sqlite:" + file} {
		if _, err := connect.Migrate(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		s, err := connect.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if err := s.Seal(t.Context(), b.Failures[0].StageTimestamp.AddDate(1, 0, 0)); err != nil {
			t.Fatal(err)
		}
		run, rows := sinktest.Agreement("run", b.Failures[0].StageTimestamp)
		if err := s.SaveAgreement(t.Context(), run, rows); err != nil {
			t.Fatal(err)
		}
	}
	pg, lite := openSQL(t, "pgx", pgURL), openSQL(t, "sqlite", file)
	pgViews := query(t, pg, `SELECT viewname FROM pg_views WHERE schemaname = 'vapshadow' ORDER BY 1`)
	liteViews := query(t, lite, `SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY 1`)
	if diff := cmp.Diff(pgViews[1:], liteViews[1:]); diff != "" {
		t.Fatalf("the views (- Postgres, + SQLite):\n%s", diff)
	}
	for _, view := range pgViews[1:] {
		pgRows, liteRows := query(t, pg, "SELECT * FROM vapshadow."+view), query(t, lite, "SELECT * FROM "+view)
		if diff := cmp.Diff(pgRows[0], liteRows[0]); diff != "" {
			t.Errorf("the columns of %s (- Postgres, + SQLite):\n%s", view, diff)
		}
		if len(pgRows) < 2 {
			t.Errorf("%s has no rows to compare", view)
		}
		if view == "v_positions" || view == "v_schema" {
			continue // they hold when each was written, and the number of files
		}
		if len(pgRows) != len(liteRows) {
			t.Errorf("%s has %d rows in Postgres, and %d in SQLite", view, len(pgRows)-1, len(liteRows)-1)
		}
	}
	for _, test := range []struct{ name, query, want string }{
		{"coverage", "SELECT matched, decided_exact, decided_presumed, decided_otherwise, unknown FROM %sv_coverage", "20 4 3 2 11"},
		{"coverage of a day", "SELECT matched, unknown FROM %sv_coverage_daily ORDER BY day", "9 0\n11 11"},
		{"hours", "SELECT sum(count), count(*) FROM %sv_rollups_hourly", "20 5"},
		{"days", "SELECT sum(count), count(*) FROM %sv_rollups_daily", "20 5"},
		{"ledger that adds up", "SELECT ingested, evaluated, not_admission, skipped, dead_lettered, requests, difference FROM %sv_ledger WHERE partition = 'good'",
			"10 4 3 2 1 7 0"},
		{"ledger that does not", "SELECT difference FROM %sv_ledger WHERE partition = 'bad'", "1"},
	} {
		for store, db := range map[string]*sql.DB{"vapshadow.": pg, "": lite} {
			if got := strings.Join(query(t, db, fmt.Sprintf(test.query, store))[1:], "\n"); got != test.want {
				t.Errorf("%s in %q: %s, want %s", test.name, store, got, test.want)
			}
		}
	}
	for store, db := range map[string]*sql.DB{"vapshadow.": pg, "": lite} {
		got := map[string]int{}
		text := query(t, db, "SELECT unknown_by_reason FROM "+store+"v_coverage")[1]
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("unknown_by_reason is no JSON: %s", text)
		}
		if diff := cmp.Diff(map[string]int{"NoHistory": 6, "": 5}, got); diff != "" {
			t.Errorf("unknown_by_reason in %q (- expected, + found):\n%s", store, diff)
		}
	}
	undocumented := query(t, pg, `SELECT viewname FROM pg_views WHERE schemaname = 'vapshadow'
		AND obj_description(('vapshadow.' || viewname)::regclass) IS NULL`)
	if len(undocumented) > 1 {
		t.Errorf("views without a comment: %v", undocumented[1:])
	}
}

// viewSample has rollups of all kinds of evidence on two days, and ledgers that add up and do not.
func viewSample() *sink.Batch {
	b := sinktest.Sample("audit/0", 0, 3)
	base := b.Rollups[0]
	b.Rollups, b.Ledger = nil, nil
	for _, r := range []struct {
		result, evidence, because string
		day                       int
		count                     int64
	}{
		{"Pass", "Exact", "", 0, 4}, {"Fail", "Presumed", "", 0, 3}, {"Pass", "Missing", "", 0, 2},
		{"Unknown", "Missing", "NoHistory", 1, 6}, {"Unknown", "Missing", "", 1, 5},
	} {
		row := base
		row.Result, row.Evidence, row.Because, row.Count = r.result, r.evidence, r.because, r.count
		row.Minute = row.Minute.AddDate(0, 0, r.day)
		b.Rollups = append(b.Rollups, row)
	}
	for _, line := range []sink.LedgerLine{
		{Partition: "good", Outcome: sink.Ingested, Count: 10}, {Partition: "good", Outcome: sink.Evaluated, Count: 4},
		{Partition: "good", Outcome: sink.NotAdmission, Reason: "ReadOnly", Count: 3},
		{Partition: "good", Outcome: sink.Skipped, Reason: "Duplicate", Count: 2},
		{Partition: "good", Outcome: sink.DeadLettered, Reason: "InvalidJSON", Count: 1},
		{Partition: "good", Outcome: sink.Requests, Count: 7},
		{Partition: "bad", Outcome: sink.Ingested, Count: 5}, {Partition: "bad", Outcome: sink.Evaluated, Count: 4},
	} {
		line.Source = "audit"
		b.Ledger = append(b.Ledger, line)
	}
	return b
}

func openSQL(t *testing.T, driver, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// query returns the names of the columns, then the rows, each as one text.
func query(t *testing.T, db *sql.DB, text string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	out := []string{strings.Join(columns, " ")}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = fmt.Sprintf("%v", *v.(*any))
			if bytes, ok := (*v.(*any)).([]byte); ok {
				texts[i] = string(bytes)
			}
		}
		out = append(out, strings.Join(texts, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return slices.Clip(out)
}
