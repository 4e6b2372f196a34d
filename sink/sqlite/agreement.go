package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

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
	err = s.write(ctx, func(conn *sql.Conn) error {
		if err := insert(ctx, conn, table.AgreementRuns, p.Run, "DO UPDATE SET verified_at = max(verified_at, excluded.verified_at)"); err != nil {
			return err
		}
		return insert(ctx, conn, table.Agreements, p.Rows, keep)
	})
	if err != nil {
		return fmt.Errorf("storing an agreement: %w", err)
	}
	return nil
}

// Agreement implements sink.Reader.
func (s *Store) Agreement(ctx context.Context, f sink.Filter) iter.Seq2[sink.Agreement, error] {
	return read(ctx, s.readers, table.AgreementsRead, f)
}

// AgreementRuns implements sink.Reader.
func (s *Store) AgreementRuns(ctx context.Context, f sink.Filter) iter.Seq2[sink.AgreementRun, error] {
	return read(ctx, s.readers, table.AgreementRuns, f)
}
