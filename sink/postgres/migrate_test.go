package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/vapshadow/vapshadow/internal/pgtest"
	"github.com/vapshadow/vapshadow/migrations"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/postgres"
)

func TestMigrateTwoAtOnce(t *testing.T) {
	url := pgtest.New(t)
	all, err := postgres.Status(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		applied []sink.Migration
		err     error
	}
	results := make(chan result)
	for range 3 {
		go func() {
			applied, err := postgres.Migrate(context.WithoutCancel(t.Context()), url)
			results <- result{applied, err}
		}()
	}
	applied := 0
	for range 3 {
		r := <-results
		if r.err != nil {
			t.Error(r.err)
		}
		applied += len(r.applied)
	}
	if applied != len(all) {
		t.Errorf("%d migrations were applied, want %d", applied, len(all))
	}
	open(t, url)
}

func TestOtherSchema(t *testing.T) {
	url := migrated(t)
	latest, err := migrations.Latest("postgres")
	if err != nil {
		t.Fatal(err)
	}
	expectSchema := func(change string, have int64) {
		t.Helper()
		execute(t, url, change)
		_, err := postgres.Open(t.Context(), url)
		var schema *sink.SchemaError
		if !errors.As(err, &schema) || *schema != (sink.SchemaError{Have: have, Want: latest}) {
			t.Errorf("Open: %v, want a SchemaError of versions %d and %d", err, have, latest)
		}
		if err == nil || !strings.Contains(err.Error(), "vapshadow migrate up") || !strings.Contains(err.Error(), fmt.Sprint("version ", have)) {
			t.Errorf("the error does not say which version, or what to do: %v", err)
		}
	}
	newer := latest + 5
	expectSchema(fmt.Sprintf(`INSERT INTO vapshadow.schema_migrations (version_id, is_applied) VALUES (%d, true)`, newer), newer)
	var schema *sink.SchemaError
	if _, err := postgres.Migrate(t.Context(), url); !errors.As(err, &schema) {
		t.Errorf("Migrate of a newer schema: %v", err)
	}
	if _, err := postgres.Status(t.Context(), url); !errors.As(err, &schema) {
		t.Errorf("Status of a newer schema: %v", err)
	}
	all, err := migrations.Of("postgres")
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(all, "*.sql")
	if err != nil || len(names) < 2 {
		t.Fatalf("the migrations: %v, %v", names, err)
	}
	before, err := strconv.ParseInt(names[len(names)-2][:5], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	expectSchema(fmt.Sprintf(`DELETE FROM vapshadow.schema_migrations WHERE version_id >= %d`, latest), before)
	list, err := postgres.Status(t.Context(), url)
	if n := len(list); err != nil || n != len(names) || list[n-2].At.IsZero() || !list[n-2].Applied || list[n-1].Applied {
		t.Errorf("Status with the last migration missing: %v, %v", list, err)
	}
}

// TestMigrationsGoDown takes every migration back, which has to leave nothing.
func TestMigrationsGoDown(t *testing.T) {
	url := migrated(t)
	conn := connect(t, url)
	db := stdlib.OpenDB(*conn.Config())
	defer db.Close()
	down(t, db, 0)
	var left int
	err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = 'vapshadow'::regnamespace AND relkind IN ('r', 'p', 'v')
		AND relname <> 'schema_migrations') + (SELECT count(*) FROM pg_proc WHERE pronamespace = 'vapshadow'::regnamespace)`).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d tables, views and functions are left (%v)", left, err)
	}
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Errorf("up again: %v", err)
	}
}

func down(t *testing.T, db *sql.DB, version int64) {
	t.Helper()
	files, err := migrations.Of("postgres")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName("vapshadow.schema_migrations"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.DownTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
}
