package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/sinktest"
	"github.com/vapshadow/vapshadow/sink/sqlite"
)

func TestContract(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Open {
		file := migrated(t)
		return func(t testing.TB) sink.Database { return open(t, file) }
	})
}

// migrated makes a file with its schema.
func migrated(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "odd name?#%41.db")
	if _, err := sqlite.Migrate(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	return file
}

func open(t testing.TB, file string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), file)
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
