package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// prepared is a batch ready to be written: cleaned, keyed, and in the order that all writers take their locks in.
type prepared struct {
	moves       []move
	deliveries  []delivery
	failures    []table.Row[sink.Failure]
	annotations []table.Row[sink.Annotation]
	rollups     []table.Row[sink.Rollup]
	ledger      []table.Row[sink.LedgerLine]
	deadLetters []table.Row[sink.DeadLetter]
	policies    []table.Row[sink.PolicyText]
}

func prepare(b *sink.Batch) (*prepared, error) {
	moves, err := prepareMoves(b.Moves)
	if err != nil {
		return nil, err
	}
	deliveries, err := prepareDeliveries(b.Deliveries)
	if err != nil {
		return nil, err
	}
	b = table.Clean(b)
	return &prepared{
		moves: moves, deliveries: deliveries,
		failures:    table.First(table.Failures.Sorted(b.Failures)),
		annotations: table.First(table.Annotations.Sorted(b.Annotations)),
		rollups:     table.Sum(table.Rollups.Sorted(b.Rollups), func(r *sink.Rollup) *int64 { return &r.Count }),
		ledger:      table.Sum(table.Ledger.Sorted(b.Ledger), func(r *sink.LedgerLine) *int64 { return &r.Count }),
		deadLetters: table.First(table.DeadLetters.Sorted(b.DeadLetters)),
		policies:    table.First(table.Policies.Sorted(b.Policies)),
	}, nil
}

// Commit implements sink.Store.
//
// Partitions of days that are not there yet are made first. A day that another process drops in between is made again:
// its rows are past the retention, and go with the next Maintain, but a batch never fails for their sake.
func (s *Store) Commit(ctx context.Context, b *sink.Batch) error {
	p, err := prepare(b)
	if err != nil {
		return err
	}
	days := daysOf(p)
	for try := 1; ; try++ {
		if err := s.ensureDays(ctx, days); err != nil {
			return err
		}
		err := s.retry(ctx, func(tx pgx.Tx) error { return p.write(ctx, tx) })
		if code(err) == checkViolation && try < maxTries {
			s.days.forget()
			continue
		}
		return err
	}
}

// write writes the batch in two trips: what may refuse it, then the rest.
func (p *prepared) write(ctx context.Context, tx pgx.Tx) error {
	if err := p.claim(ctx, tx); err != nil {
		return err
	}
	var out pgx.Batch
	queueMoves(&out, p.moves)
	insert(&out, table.Policies, p.policies, keep)
	insert(&out, table.Failures, p.failures, keep)
	insert(&out, table.Annotations, p.annotations, keep)
	insert(&out, table.Rollups, p.rollups, add)
	insert(&out, table.Ledger, p.ledger, add)
	insert(&out, table.DeadLetters, p.deadLetters, keep)
	if out.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, &out).Close(); err != nil {
		return fmt.Errorf("writing a batch: %w", err)
	}
	return nil
}
