package postgres

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/batch"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// Commit implements sink.Store.
//
// Partitions of days that are not there yet are made first. A day that another process drops in between is made again:
// its rows are past the retention, and go with the next Maintain, but a batch never fails for their sake.
func (s *Store) Commit(ctx context.Context, b *sink.Batch) error {
	p, err := batch.Prepare(b)
	if err != nil {
		return err
	}
	days := p.Days()
	for try := 1; ; try++ {
		if err := s.ensureDays(ctx, days); err != nil {
			return err
		}
		err := s.retry(ctx, func(tx pgx.Tx) error { return s.write(ctx, tx, p) })
		if code(err) == checkViolation && try < maxTries {
			s.days.forget()
			continue
		}
		return err
	}
}

// resolve removes dead letters, all of which have to be there.
func resolve(ctx context.Context, tx pgx.Tx, keys [][]byte) error {
	if len(keys) == 0 {
		return nil
	}
	done, err := tx.Exec(ctx, "DELETE FROM vapshadow.dead_letters WHERE row_key = ANY($1)", keys)
	switch {
	case err != nil:
		return fmt.Errorf("removing dead letters: %w", err)
	case int(done.RowsAffected()) != len(keys):
		return sink.ErrResolved
	}
	return nil
}

// write writes a batch in two trips: what may refuse it, then the rest.
func (s *Store) write(ctx context.Context, tx pgx.Tx, p *batch.Prepared) error {
	if err := claim(ctx, tx, p); err != nil {
		return err
	}
	if err := resolve(ctx, tx, p.Resolved); err != nil {
		return err
	}
	var out pgx.Batch
	queueMoves(&out, p.Moves)
	insert(&out, table.Policies, p.Policies, keep)
	insert(&out, table.Failures, p.Failures, keep)
	insert(&out, table.Annotations, p.Annotations, keep)
	insert(&out, table.Rollups, p.Rollups, add)
	insert(&out, table.Ledger, p.Ledger, add)
	insert(&out, table.DeadLetters, p.DeadLetters, keep)
	// Last, since whoever else writes with this store waits for it until the transaction ends.
	queueChanges(&out, s.writer, rand.Text(), p.CountedDays())
	if out.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, &out).Close(); err != nil {
		return fmt.Errorf("writing a batch: %w", err)
	}
	return nil
}
