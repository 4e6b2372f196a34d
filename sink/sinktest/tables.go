package sinktest

import (
	"context"
	"iter"
	"testing"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// Tables are all rows of a store, in the order of sink.Reader: what two stores that were given the same must agree on.
type Tables struct {
	Failures    []sink.Failure
	Annotations []sink.Annotation
	Rollups     []sink.Rollup
	Ledger      []sink.LedgerLine
	DeadLetters []sink.DeadLetter
	Policies    []sink.PolicyText
}

// Read reads the rows of a store that a filter lets through.
func Read(t testing.TB, r sink.Reader, f sink.Filter) Tables {
	t.Helper()
	ctx := t.Context()
	return Tables{
		Failures: all(t, r.Failures(ctx, f)), Annotations: all(t, r.Annotations(ctx, f)), Rollups: all(t, r.Rollups(ctx, f)),
		Ledger: all(t, r.Ledger(ctx, f)), DeadLetters: all(t, r.DeadLetters(ctx, f)), Policies: all(t, r.Policies(ctx, f)),
	}
}

// Expect are the rows that a store must hold that was given a batch and nothing else.
func Expect(b *sink.Batch) Tables {
	b = table.Clean(b)
	return Tables{
		Failures:    ordered(table.Failures, b.Failures),
		Annotations: ordered(table.Annotations, b.Annotations),
		Rollups:     summed(table.Rollups, b.Rollups, func(r *sink.Rollup) *int64 { return &r.Count }),
		Ledger:      summed(table.Ledger, b.Ledger, func(r *sink.LedgerLine) *int64 { return &r.Count }),
		DeadLetters: ordered(table.DeadLetters, b.DeadLetters),
		Policies:    ordered(table.Policies, b.Policies),
	}
}

func all[T any](t testing.TB, rows iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

func marks(t testing.TB, s sink.Store, source string) []sink.PartitionMark {
	t.Helper()
	list, err := s.Marks(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func commit(t testing.TB, s sink.Store, b *sink.Batch) {
	t.Helper()
	if err := s.Commit(context.WithoutCancel(t.Context()), b); err != nil {
		t.Fatal(err)
	}
}
