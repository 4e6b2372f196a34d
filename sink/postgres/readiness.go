package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/readiness"
)

// Readiness implements sink.Reader.
func (s *Store) Readiness(ctx context.Context, f sink.Filter, c sink.Criteria) ([]sink.Readiness, error) {
	return s.readiness(ctx, f, c, readiness.Read)
}

// ReadinessByNamespace implements sink.Reader.
func (s *Store) ReadinessByNamespace(ctx context.Context, f sink.Filter, c sink.Criteria) ([]sink.Readiness, error) {
	return s.readiness(ctx, f, c, readiness.ReadByNamespace)
}

type readinessFunc func(context.Context, readiness.Querier, sink.Filter, sink.Criteria) ([]sink.Readiness, error)

func (s *Store) readiness(ctx context.Context, f sink.Filter, c sink.Criteria, read readinessFunc) (out []sink.Readiness, err error) {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.pool, snapshot, func(tx pgx.Tx) error {
		out, err = read(ctx, querier{tx}, f, c)
		return err
	})
	return out, err
}

// querier is a readiness.Querier.
type querier struct{ tx pgx.Tx }

func (querier) View(name string) string { return "vapshadow." + name }

func (querier) Placeholder(n int) string { return fmt.Sprintf("$%d", n) }

func (querier) Day(column string) string { return "date_trunc('day', " + column + ", 'UTC')" }

func (q querier) Query(ctx context.Context, sql string, args, fields []any, each func()) error {
	rows, err := q.tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, fields, func() error {
		each()
		return nil
	})
	return err
}
