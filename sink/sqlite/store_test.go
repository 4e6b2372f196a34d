package sqlite_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

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

// TestLockIsGivenUp: wherever a commit is cut short, the next one gets the file.
func TestLockIsGivenUp(t *testing.T) {
	s := open(t, migrated(t))
	if err := s.Commit(t.Context(), sinktest.Sample("audit/0", 0, 1)); err != nil {
		t.Fatal(err)
	}
	stale := sinktest.Sample("audit/0", 0, 1) // It is read how far the partition is, and then refused.
	for range 4000 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(200))*time.Microsecond)
		begun := time.Now()
		err := s.Commit(ctx, stale) // Cut or refused: neither is of account here.
		cancel()
		if took := time.Since(begun); took > 20*time.Second {
			t.Fatalf("the lock is not given up: %v after %v", err, took)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Commit(ctx, sinktest.Sample("audit/0", 1, 1)); err != nil {
		t.Error(err)
	}
}
