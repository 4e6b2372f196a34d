package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

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

func (s *Store) readiness(ctx context.Context, f sink.Filter, c sink.Criteria, read readinessFunc) ([]sink.Readiness, error) {
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("reading the readiness: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	return read(ctx, querier{tx}, f, c)
}

// querier is a readiness.Querier.
type querier struct{ tx *sql.Tx }

func (querier) View(name string) string { return name }

func (querier) Placeholder(n int) string { return fmt.Sprintf("?%d", n) }

func (querier) Day(column string) string {
	return "substr(" + column + ", 1, 10) || 'T00:00:00.000000Z'"
}

func (q querier) Query(ctx context.Context, query string, args, fields []any, each func()) error {
	for i, arg := range args {
		if at, ok := arg.(time.Time); ok {
			args[i] = formatTime(at)
		}
	}
	targets := make([]any, len(fields))
	for i, field := range fields {
		targets[i] = scanner{field}
	}
	rows, err := q.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // what went wrong is in rows.Err
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		each()
	}
	return rows.Err()
}
