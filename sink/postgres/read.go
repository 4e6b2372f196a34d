package postgres

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// Failures implements sink.Reader.
func (s *Store) Failures(ctx context.Context, f sink.Filter) iter.Seq2[sink.Failure, error] {
	return read(ctx, s.pool, table.Failures, f)
}

// Annotations implements sink.Reader.
func (s *Store) Annotations(ctx context.Context, f sink.Filter) iter.Seq2[sink.Annotation, error] {
	return read(ctx, s.pool, table.Annotations, f)
}

// Rollups implements sink.Reader.
func (s *Store) Rollups(ctx context.Context, f sink.Filter) iter.Seq2[sink.Rollup, error] {
	return read(ctx, s.pool, table.Rollups, f)
}

// Ledger implements sink.Reader.
func (s *Store) Ledger(ctx context.Context, f sink.Filter) iter.Seq2[sink.LedgerLine, error] {
	return read(ctx, s.pool, table.Ledger, f)
}

// DeadLetters implements sink.Reader.
func (s *Store) DeadLetters(ctx context.Context, f sink.Filter) iter.Seq2[sink.DeadLetter, error] {
	return read(ctx, s.pool, table.DeadLetters, f)
}

// Policies implements sink.Reader.
func (s *Store) Policies(ctx context.Context, f sink.Filter) iter.Seq2[sink.PolicyText, error] {
	return read(ctx, s.pool, table.Policies, f)
}

// read reads the view, which a role that may only read sees too.
func read[T any](ctx context.Context, db queryer, t *table.Table[T], f sink.Filter) iter.Seq2[T, error] {
	sql, args := selectSQL(t, f)
	return func(yield func(T, error) bool) {
		var row T
		rows, err := db.Query(ctx, sql, args...)
		if err != nil {
			yield(row, fmt.Errorf("reading %s: %w", t.View, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			if row, err = scan(rows, t); err != nil {
				break
			}
			if !yield(row, nil) {
				return
			}
		}
		if err == nil {
			err = rows.Err()
		}
		if err != nil {
			yield(row, fmt.Errorf("reading %s: %w", t.View, err))
		}
	}
}

func scan[T any](rows pgx.Rows, t *table.Table[T]) (T, error) {
	var row T
	fields := make([]any, len(t.Columns))
	for i, c := range t.Columns {
		fields[i] = c.Field(&row)
	}
	if err := rows.Scan(fields...); err != nil {
		return row, err
	}
	for _, field := range fields {
		switch f := field.(type) {
		case *time.Time:
			*f = f.UTC()
		case *[]string:
			if len(*f) == 0 {
				*f = nil
			}
		}
	}
	return row, nil
}

func selectSQL[T any](t *table.Table[T], f sink.Filter) (string, []any) {
	where, args := whereSQL(t, f)
	// The database's own collation may sort names otherwise.
	order := make([]string, len(t.Order))
	for i, name := range t.Order {
		order[i] = name
		if t.IsText(name) {
			order[i] += ` COLLATE "C"`
		}
		if f.Newest {
			order[i] += " DESC"
		}
	}
	sql := "SELECT " + strings.Join(t.Names(), ", ") + " FROM vapshadow." + t.View + where + " ORDER BY " + strings.Join(order, ", ")
	if f.Limit > 0 {
		sql += fmt.Sprintf(" LIMIT %d OFFSET %d", f.Limit, f.Offset)
	}
	return sql, args
}

// whereSQL is the condition of a query, empty for none.
func whereSQL[T any](t *table.Table[T], f sink.Filter) (string, []any) {
	var where []string
	var args []any
	narrow := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	for _, c := range t.Conditions(f) {
		narrow(c.Column+" "+c.Operator+" $%d", c.Value)
	}
	if len(f.Results) > 0 && t.Has("result") {
		narrow("result = ANY($%d)", f.Results)
	}
	if f.Stopping && t.Has("ignored") {
		where = append(where, table.Stopping)
	}
	if f.New && t.Has("repeats") {
		where = append(where, table.New)
	}
	if f.Latest && t.Has("latest") {
		where = append(where, "latest")
	}
	if len(where) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(where, " AND "), args
}
