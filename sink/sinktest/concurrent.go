package sinktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// allOrNothing cuts commits short at any moment. Whatever each came to, its rows and its mark agree.
func allOrNothing(t *testing.T, open Open) {
	s := open(t)
	const size = 100
	random := rand.New(rand.NewPCG(1, 2))
	var written []*sink.Batch
	var at int64
	// The time that a commit may take goes up and down, so that about every second one is cut.
	allowed := 20 * time.Millisecond
	for whole, cut := 0, 0; whole < 15 || cut < 15; {
		b := Sample("audit/0", at, size)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.Int64N(int64(allowed))))
		err := s.Commit(ctx, b)
		cancel()
		now := int64(0)
		if list := marks(t, s, source); len(list) > 0 {
			now = list[0].Mark.Offset
		}
		switch {
		case now == at+size:
			written, at = append(written, b), now
		case now != at:
			t.Fatalf("the mark is at %d, between %d and %d", now, at, at+size)
		case err == nil:
			t.Fatal("Commit succeeded, and the mark has not moved")
		}
		if err == nil {
			whole++
			allowed = allowed*4/5 + time.Microsecond
		} else {
			cut++
			allowed = allowed * 5 / 4
		}
	}
	// A commit that was cut last may still be under way in the store. This one waits for it, and tells.
	last := Sample("audit/0", at, size)
	var moved *sink.MovedError
	if err := s.Commit(t.Context(), last); err != nil && !errors.As(err, &moved) {
		t.Fatal(err)
	}
	check(t, s, join(append(written, last)...))
}

// oneOfTwoWins: two processes take one partition for theirs.
func oneOfTwoWins(t *testing.T, open Open) {
	stores := []sink.Database{open(t), open(t)}
	const rounds = 20
	var written []*sink.Batch
	for round := range int64(rounds) {
		b := Sample("audit/0", round*3, 3)
		var wins, losses atomic.Int32
		together(t, len(stores), func(i int) error {
			var moved *sink.MovedError
			switch err := stores[i].Commit(t.Context(), b); {
			case err == nil:
				wins.Add(1)
			case errors.As(err, &moved) && len(moved.Now) == 1 && moved.Now[0] == reached(b.Moves[0]):
				losses.Add(1)
			default:
				return fmt.Errorf("round %d: %w", round, err)
			}
			return nil
		})
		if wins.Load() != 1 || losses.Load() != 1 {
			t.Fatalf("round %d: %d committed and %d were refused, want 1 and 1", round, wins.Load(), losses.Load())
		}
		written = append(written, b)
	}
	check(t, stores[0], join(written...))
}

func oneDeliveryOfTwoWins(t *testing.T, open Open) {
	stores := []sink.Database{open(t), open(t)}
	var written []*sink.Batch
	for round := range int64(20) {
		b := join(Sample("prod", round*3, 3))
		b.Deliveries = []sink.Delivery{{Source: "hook", Key: fmt.Sprint(round, "a")}, {Source: "hook", Key: fmt.Sprint(round, "b")}}
		var wins, losses atomic.Int32
		together(t, len(stores), func(i int) error {
			var delivered *sink.DeliveredError
			switch err := stores[i].Commit(t.Context(), b); {
			case err == nil:
				wins.Add(1)
			case errors.As(err, &delivered) && len(delivered.Deliveries) == 2:
				losses.Add(1)
			default:
				return fmt.Errorf("round %d: %w", round, err)
			}
			return nil
		})
		if wins.Load() != 1 || losses.Load() != 1 {
			t.Fatalf("round %d: %d committed and %d were refused, want 1 and 1", round, wins.Load(), losses.Load())
		}
		written = append(written, b)
	}
	check(t, stores[0], join(written...))
}

// writersOfSharedRows: writers of different partitions count in the same rows, in orders that would have them wait for
// each other. All must come through, and no count may be lost.
func writersOfSharedRows(t *testing.T, open Open) {
	const writers, rounds, size = 6, 8, 40
	stores := []sink.Database{open(t), open(t)}
	batches := make([][]*sink.Batch, writers)
	var written []*sink.Batch
	for w := range writers {
		random := rand.New(rand.NewPCG(uint64(w), 3))
		for round := range int64(rounds) {
			b := Sample("audit/shared", round*size, size)
			b.Moves = []sink.Move{move(fmt.Sprint("audit/", w), round*size, (round+1)*size)}
			// The events stand on several days, and in another order for each writer.
			for i := range b.Rollups {
				b.Rollups[i].Minute = b.Rollups[i].Minute.AddDate(0, 0, i%4)
				b.Rollups[i].Namespace = fmt.Sprint("ns-", i%7)
			}
			for i := range b.Failures {
				b.Failures[i].StageTimestamp = b.Failures[i].StageTimestamp.AddDate(0, 0, i%4)
			}
			random.Shuffle(len(b.Rollups), func(i, j int) { b.Rollups[i], b.Rollups[j] = b.Rollups[j], b.Rollups[i] })
			random.Shuffle(len(b.Ledger), func(i, j int) { b.Ledger[i], b.Ledger[j] = b.Ledger[j], b.Ledger[i] })
			random.Shuffle(len(b.Failures), func(i, j int) { b.Failures[i], b.Failures[j] = b.Failures[j], b.Failures[i] })
			batches[w] = append(batches[w], b)
			written = append(written, b)
		}
	}
	together(t, writers, func(w int) error {
		for round, b := range batches[w] {
			if err := stores[w%2].Commit(t.Context(), b); err != nil {
				return fmt.Errorf("writer %d, round %d: %w", w, round, err)
			}
		}
		return nil
	})
	check(t, stores[1], join(written...))
}

// together runs n at the same time, and waits for all.
func together(t testing.TB, n int, do func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
