package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vapshadow/vapshadow/internal/pgtest"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/postgres"
	"github.com/vapshadow/vapshadow/sink/sinktest"
)

// TestRestartsWhileWriting stops, kills and starts the server under the hands of two writers. Each tries a batch again
// until it is stored, as the pipeline does. All must be there once.
func TestRestartsWhileWriting(t *testing.T) {
	server := pgtest.Start(t, pgtest.Config{})
	url := server.Database(t)
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	const size = 20
	var stored, interrupted atomic.Int32
	var done atomic.Bool
	var mu sync.Mutex
	all := &sink.Batch{}
	var writers sync.WaitGroup
	defer writers.Wait()
	defer done.Store(true)
	for w := range 2 {
		s := open(t, url)
		writers.Go(func() {
			for at := int64(0); !done.Load(); at += size {
				b := sinktest.Sample(fmt.Sprint("audit/", w), at, size)
				tries, err := persist(t.Context(), s, b)
				if err != nil {
					t.Errorf("writer %d at %d: %v", w, at, err)
					return
				}
				stored.Add(1)
				interrupted.Add(int32(tries - 1))
				mu.Lock()
				appendRows(all, b)
				mu.Unlock()
			}
		})
	}
	for _, restart := range []func() error{
		func() error { return server.Restart(pgtest.Fast) },
		func() error { return server.Restart(pgtest.Immediate) },
		func() error { return errors.Join(server.Kill(), server.Start()) },
		func() error { return server.Restart(pgtest.Immediate) },
	} {
		before := stored.Load()
		await(t, func() bool { return stored.Load() >= before+6 })
		if err := restart(); err != nil {
			t.Fatal(err)
		}
	}
	before := stored.Load()
	await(t, func() bool { return stored.Load() >= before+6 })
	done.Store(true)
	writers.Wait()
	if interrupted.Load() == 0 {
		t.Error("no commit was interrupted: the test shows nothing")
	}
	expect(t, open(t, url), all)
}

// persist commits a batch as often as it takes.
func persist(ctx context.Context, s sink.Store, b *sink.Batch) (tries int, err error) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		tries++
		err := s.Commit(ctx, b)
		var moved *sink.MovedError
		switch {
		case err == nil:
			return tries, nil
		case errors.As(err, &moved):
			for i, m := range moved.Now {
				if m.Mark != b.Moves[i].To {
					return tries, err
				}
			}
			return tries, nil
		case time.Now().After(deadline):
			return tries, err
		}
	}
}

func appendRows(to, b *sink.Batch) {
	to.Failures = append(to.Failures, b.Failures...)
	to.Annotations = append(to.Annotations, b.Annotations...)
	to.Rollups = append(to.Rollups, b.Rollups...)
	to.Ledger = append(to.Ledger, b.Ledger...)
	to.DeadLetters = append(to.DeadLetters, b.DeadLetters...)
	to.Policies = append(to.Policies, b.Policies...)
}

func expect(t testing.TB, r sink.Reader, b *sink.Batch) {
	t.Helper()
	if diff := cmp.Diff(sinktest.Expect(b), sinktest.Read(t, r, sink.Filter{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the tables differ (- expected, + found):\n%s", diff)
	}
}

func await(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}
