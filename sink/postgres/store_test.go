package postgres_test

import (
	"testing"

	"github.com/vapshadow/vapshadow/internal/pgtest"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/postgres"
	"github.com/vapshadow/vapshadow/sink/sinktest"
)

func TestContract(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Open {
		url := migrated(t)
		return func(t testing.TB) sink.Database { return open(t, url) }
	})
}

// migrated makes a database with its schema.
func migrated(t testing.TB) string {
	t.Helper()
	url := pgtest.New(t)
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return url
}

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
