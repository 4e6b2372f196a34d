package connect_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/internal/pgtest"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
	"github.com/vapshadow/vapshadow/sink/postgres"
	"github.com/vapshadow/vapshadow/sink/sinktest"
	"github.com/vapshadow/vapshadow/sink/sqlite"
)

func TestOpen(t *testing.T) {
	pg := pgtest.New(t)
	for _, test := range []struct {
		name, url string
		is        func(sink.Database) bool
	}{
		{"postgres", pg, isA[*postgres.Store]},
		{"postgresql", strings.Replace(pgtest.New(t), "postgres://", "postgresql://", 1), isA[*postgres.Store]},
		{"sqlite:FILE", "sqlite:" + filepath.Join(t.TempDir(), "a.db"), isA[*sqlite.Store]},
		{"sqlite://FILE", "sqlite://" + filepath.Join(t.TempDir(), "b.db"), isA[*sqlite.Store]},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := connect.Open(t.Context(), test.url)
			var schema *sink.SchemaError
			if s != nil || !errors.As(err, &schema) || schema.Have != 0 || !strings.Contains(err.Error(), "vapshadow migrate up") {
				t.Fatalf("without a schema: %v, %v; want a SchemaError that tells what to do", s, err)
			}
			pending, err := connect.Status(t.Context(), test.url)
			if err != nil || len(pending) == 0 || pending[0].Applied {
				t.Fatalf("without a schema the status is %v, %v", pending, err)
			}
			applied, err := connect.Migrate(t.Context(), test.url)
			if err != nil || len(applied) != len(pending) || !applied[0].Applied {
				t.Fatalf("Migrate: %v, %v", applied, err)
			}
			if s, err = connect.Open(t.Context(), test.url); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if !test.is(s) {
				t.Errorf("the store is a %T", s)
			}
			if err := s.Commit(t.Context(), sinktest.Sample("audit/0", 0, 2)); err != nil {
				t.Error(err)
			}
			if again, err := connect.Migrate(t.Context(), test.url); err != nil || len(again) != 0 {
				t.Errorf("a second Migrate: %v, %v; want nothing to do", again, err)
			}
		})
	}
}

func isA[S sink.Database](s sink.Database) bool {
	_, ok := s.(S)
	return ok
}

func TestBadAddress(t *testing.T) {
	const password = "hunter2"
	for _, url := range []string{
		"", "sqlite:", "sqlite://", "mysql://root:hunter2@localhost/db", "/var/lib/vapshadow.db", "postgres:hunter2",
		"postgres://jane:hunter2@localhost:port/db",
		"postgres://jane:hunter2 @localhost/db",
		"postgres://jane:hunter2/@localhost/db",
		"postgres://jane:%hunter2@localhost/db",
		"postgres://jane:x@y:hunter2@localhost/db?sslmode=none",
		"postgres://jane:hunter2@localhost/db?sslmode=none",
		"postgres://localhost/db?sslmode=none&password=hunter2",
		"postgres://jane:hunter2@localhost/db?pool_max_conns=many",
		"postgres://jane:hunter2@127.0.0.1:1/db?connect_timeout=1",
	} {
		_, openErr := connect.Open(t.Context(), url)
		_, migrateErr := connect.Migrate(t.Context(), url)
		_, statusErr := connect.Status(t.Context(), url)
		for _, err := range []error{openErr, migrateErr, statusErr} {
			if err == nil && !strings.Contains(url, "pool_max_conns") {
				t.Errorf("%q is taken", url)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("%q: the error shows the password: %v", url, err)
			}
		}
		if shown := connect.Redact(url); strings.Contains(shown, password) {
			t.Errorf("%q is shown as %q", url, shown)
		}
	}
	_, err := connect.Open(t.Context(), "mysql://localhost/db")
	if err == nil || !strings.Contains(err.Error(), connect.Forms) {
		t.Errorf("an unknown form: %v; want the forms that there are", err)
	}
}

func TestRedact(t *testing.T) {
	for _, test := range []struct{ url, want string }{
		{"postgres://jane:hunter2@localhost:5432/db?sslmode=require", "postgres://jane:xxxxx@localhost:5432/db?sslmode=require"},
		{"postgres://localhost/db?password=hunter2", "postgres://localhost/db?password=xxxxx"},
		{"sqlite:/var/lib/v.db", "sqlite:/var/lib/v.db"},
	} {
		if got := connect.Redact(test.url); got != test.want {
			t.Errorf("Redact(%q) = %q, want %q", test.url, got, test.want)
		}
	}
}

func TestGrantNeedsRoles(t *testing.T) {
	if err := connect.Grant(t.Context(), "sqlite:x.db", []string{"writer"}, nil); err == nil {
		t.Error("SQLite grants rights to a role")
	}
}
