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
		var first pgx.Batch
		insert(&first, table.AgreementRuns, p.Run, keep)
		results := tx.SendBatch(ctx, &first)
		done, err := results.Exec()
		if closeErr := results.Close(); err == nil {
			err = closeErr
		}
		if err != nil || done.RowsAffected() == 0 {
			return err // It is there already, with its rows.
		}
		var rest pgx.Batch
		insert(&rest, table.Agreements, p.Rows, keep)
		return tx.SendBatch(ctx, &rest).Close()
	})
	if err != nil {
		return fmt.Errorf("storing an agreement: %w", err)
	}
	return nil
}

// Agreement implements sink.Reader.
func (s *Store) Agreement(ctx context.Context, f sink.Filter) iter.Seq2[sink.Agreement, error] {
	return read(ctx, s, table.AgreementsRead, f)
}

// AgreementRuns implements sink.Reader.
func (s *Store) AgreementRuns(ctx context.Context, f sink.Filter) iter.Seq2[sink.AgreementRun, error] {
	return read(ctx, s, table.AgreementRuns, f)
}
