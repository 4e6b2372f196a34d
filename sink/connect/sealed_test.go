package connect_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/internal/pgtest"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
	"github.com/vapshadow/vapshadow/sink/sinktest"
)

// TestSealedByAnotherVersion: what another version has counted of a day is not read, and is counted anew. What is damaged
// is an error.
func TestSealedByAnotherVersion(t *testing.T) {
	pgURL, file := pgtest.New(t), filepath.Join(t.TempDir(), "a.db")
	for _, store := range []struct{ name, url, driver, address, table, garbage string }{
		{"Postgres", pgURL, "pgx", pgURL, "vapshadow.day_counts", `'\x00'`}, {"SQLite", "sqlite:" + file, "sqlite", file, "day_counts", "x'00'"},
	} {
		t.Run(store.name, func(t *testing.T) {
			if _, err := connect.Migrate(t.Context(), store.url); err != nil {
				t.Fatal(err)
			}
			s, err := connect.Open(t.Context(), store.url)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			b := sinktest.Sample("audit/0", 0, 20)
			if err := s.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			seal := func() {
				t.Helper()
				if err := s.Seal(t.Context(), b.Failures[0].StageTimestamp.AddDate(0, 0, 1)); err != nil {
					t.Fatal(err)
				}
			}
			seal()
			want := groups(t, s)
			if len(want) != 1 || want[0].Requests != 20 {
				t.Fatalf("counted are %+v", want)
			}
			db := openSQL(t, store.driver, store.address)
			tamper := func(change string) {
				t.Helper()
				if _, err := db.Exec("UPDATE " + store.table + " SET " + change); err != nil {
					t.Fatal(err)
				}
			}
			tamper("question = 'sealed by another' WHERE question LIKE 'sealed %'")
			tamper("content = " + store.garbage + " WHERE question NOT LIKE 'sealed %'")
			if diff := cmp.Diff(want, groups(t, s)); diff != "" {
				t.Errorf("sealed by another version (- before, + after):\n%s", diff)
			}
			seal()
			if rows := query(t, db, "SELECT count(*) FROM "+store.table+" WHERE question = 'sealed by another'"); rows[1] != "0" {
				t.Error("the day was not counted anew")
			}
			if diff := cmp.Diff(want, groups(t, s)); diff != "" {
				t.Errorf("sealed anew (- before, + after):\n%s", diff)
			}
			tamper("content = " + store.garbage + " WHERE question NOT LIKE 'sealed %'")
			for _, err := range s.CountFailures(t.Context(), sink.Filter{Stopping: true}, sink.Grouping{By: []string{"cluster", "namespace"}}) {
				if err == nil || !strings.Contains(err.Error(), "damaged") {
					t.Errorf("damaged content: %v", err)
				}
			}
		})
	}
}

func groups(t *testing.T, s sink.Database) (out []sink.Group) {
	t.Helper()
	for g, err := range s.CountFailures(t.Context(), sink.Filter{Stopping: true, Since: time.Unix(0, 0)}, sink.Grouping{By: []string{"cluster", "namespace"}}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, g)
	}
	return out
}
