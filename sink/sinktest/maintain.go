package sinktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

const day = 24 * time.Hour

func maintainDropsWholeDays(t *testing.T, open Open) {
	s := open(t)
	var all []*sink.Batch
	for i, age := range []time.Duration{0, day, 2 * day, 3 * day, 30 * day, 40 * 365 * day} {
		b := hostileBatch(fmt.Sprint("day ", i), noon.Add(-age))
		b.Moves = []sink.Move{move("audit/0", int64(i), int64(i+1))}
		all = append(all, b)
		commit(t, s, b)
	}
	keep := func(n int) *sink.Batch {
		kept, every := join(all[:n]...), join(all...)
		kept.Ledger, kept.Policies = every.Ledger, every.Policies // for all time
		return kept
	}
	for _, test := range []struct {
		retention time.Duration
		now       time.Time
		kept      int
	}{
		{0, noon.Add(1000 * day), 6},
		{3 * day, noon, 4},
		{2*day + 13*time.Hour, noon, 4}, // the day of three days ago has not ended before that
		{2*day + 11*time.Hour, noon, 3},
		{day, noon.In(time.FixedZone("", -10*3600)), 2}, // days are UTC's, wherever we are
		{12*time.Hour + time.Second, noon.Add(12*time.Hour - 1), 1},
	} {
		if err := s.Maintain(t.Context(), test.retention, test.now); err != nil {
			t.Fatal(err)
		}
		check(t, s, keep(test.kept))
	}
	if err := s.Maintain(t.Context(), -day, noon); err == nil {
		t.Error("a retention below 0 is taken")
	}
	// What is past the retention can be written again: a replay of an old log.
	again := hostileBatch("again", noon.Add(-3*day))
	again.Moves = []sink.Move{move("audit/0", 6, 7)}
	commit(t, s, again)
	if got := Read(t, s, sink.Filter{}).Failures; len(got) != 2 {
		t.Errorf("%d failures after a replay, want 2", len(got))
	}
}

// maintainWhileWriting: days are dropped under the hands of those who write to them. No batch may fail for that.
func maintainWhileWriting(t *testing.T, open Open) {
	stores := []sink.Database{open(t), open(t)}
	const rounds = 30
	together(t, 4, func(i int) error {
		for round := range int64(rounds) {
			if i == 3 {
				if err := stores[1].Maintain(t.Context(), day, noon); err != nil {
					return fmt.Errorf("maintaining: %w", err)
				}
				continue
			}
			b := Sample(fmt.Sprint("audit/", i), round*4, 4)
			for n := range b.Failures {
				b.Failures[n].StageTimestamp = b.Failures[n].StageTimestamp.AddDate(0, 0, -3*n)
				b.Rollups[n].Minute = b.Rollups[n].Minute.AddDate(0, 0, -3*n)
			}
			if err := stores[i%2].Commit(t.Context(), b); err != nil {
				return fmt.Errorf("writer %d, round %d: %w", i, round, err)
			}
		}
		return nil
	})
	kept := 0
	for _, f := range Read(t, stores[0], sink.Filter{Since: noon.Add(-day)}).Failures {
		if f.StageTimestamp.Before(noon.Add(-12 * time.Hour)) {
			t.Errorf("a row of %v where none was written", f.StageTimestamp)
		}
		kept++
	}
	if want := 3 * rounds; kept != want {
		t.Errorf("%d failures of the day that is kept, want %d", kept, want)
	}
}

func ping(t *testing.T, open Open) {
	if err := open(t).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
