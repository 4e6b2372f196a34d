package sqlite_test

import (
	"database/sql"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pressly/goose/v3"

	"github.com/vapshadow/vapshadow/migrations"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/sinktest"
	"github.com/vapshadow/vapshadow/sink/sqlite"
)

// TestTeamsAndRepeatsComeLater: rows that were stored before there were teams and repeats stay, without either.
func TestTeamsAndRepeatsComeLater(t *testing.T) {
	file := migrated(t)
	b := sinktest.Sample("audit/0", 0, 20)
	s := open(t, file)
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	down(t, file, 2)
	if _, err := sqlite.Migrate(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	for i := range b.Failures {
		b.Failures[i].Team, b.Failures[i].Repeats = "", false
	}
	for i := range b.Rollups {
		b.Rollups[i].Team = ""
	}
	if diff := cmp.Diff(sinktest.Expect(b), sinktest.Read(t, open(t, file), sink.Filter{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the tables differ (- expected, + found):\n%s", diff)
	}
}

// TestMigrationsGoDown takes every migration back, which has to leave nothing.
func TestMigrationsGoDown(t *testing.T) {
	file := migrated(t)
	down(t, file, 0)
	db := plain(t, file)
	var left int
	err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_master WHERE type IN ('table', 'view', 'index') AND name NOT LIKE 'sqlite_%' AND name <> 'schema_migrations'").Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d tables, views and indexes are left (%v)", left, err)
	}
}

// plain opens a file that is there without the store.
func plain(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?mode=rw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func down(t *testing.T, file string, version int64) {
	t.Helper()
	db := plain(t, file)
	files, err := migrations.Of("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithTableName("schema_migrations"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.DownTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
}
