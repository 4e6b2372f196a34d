package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/batch"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// SaveAgreement implements sink.Store.
func (s *Store) SaveAgreement(ctx context.Context, run sink.AgreementRun, rows []sink.Agreement) error {
	p, err := batch.PrepareAgreement(run, rows)
	if err != nil {
		return err
	}
	err = s.retry(ctx, func(tx pgx.Tx) error {
		var out pgx.Batch
		insert(&out, table.AgreementRuns, p.Run, "DO UPDATE SET verified_at = greatest(t.verified_at, excluded.verified_at)")
		insert(&out, table.Agreements, p.Rows, keep)
		return tx.SendBatch(ctx, &out).Close()
	})
	if err != nil {
		return fmt.Errorf("storing an agreement: %w", err)
	}
	return nil
}

// Agreement implements sink.Reader.
func (s *Store) Agreement(ctx context.Context, f sink.Filter) iter.Seq2[sink.Agreement, error] {
	return read(ctx, s.pool, table.AgreementsRead, f)
}

// AgreementRuns implements sink.Reader.
func (s *Store) AgreementRuns(ctx context.Context, f sink.Filter) iter.Seq2[sink.AgreementRun, error] {
	return read(ctx, s.pool, table.AgreementRuns, f)
}
