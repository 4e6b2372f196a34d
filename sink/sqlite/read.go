package sqlite

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// Failures implements sink.Reader.
func (s *Store) Failures(ctx context.Context, f sink.Filter) iter.Seq2[sink.Failure, error] {
	return read(ctx, s.readers, table.Failures, f)
}

// Annotations implements sink.Reader.
func (s *Store) Annotations(ctx context.Context, f sink.Filter) iter.Seq2[sink.Annotation, error] {
	return read(ctx, s.readers, table.Annotations, f)
}

// Rollups implements sink.Reader.
func (s *Store) Rollups(ctx context.Context, f sink.Filter) iter.Seq2[sink.Rollup, error] {
	return read(ctx, s.readers, table.Rollups, f)
}

// Ledger implements sink.Reader.
func (s *Store) Ledger(ctx context.Context, f sink.Filter) iter.Seq2[sink.LedgerLine, error] {
	return read(ctx, s.readers, table.Ledger, f)
}

// DeadLetters implements sink.Reader.
func (s *Store) DeadLetters(ctx context.Context, f sink.Filter) iter.Seq2[sink.DeadLetter, error] {
	return read(ctx, s.readers, table.DeadLetters, f)
}

// Policies implements sink.Reader.
func (s *Store) Policies(ctx context.Context, f sink.Filter) iter.Seq2[sink.PolicyText, error] {
	return read(ctx, s.readers, table.Policies, f)
}

func read[T any](ctx context.Context, db queryer, t *table.Table[T], f sink.Filter) iter.Seq2[T, error] {
	query, args := selectSQL(t, f)
	return func(yield func(T, error) bool) {
		var zero T
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			yield(zero, fmt.Errorf("reading %s: %w", t.View, err))
			return
		}
		defer rows.Close() //nolint:errcheck // what went wrong is in rows.Err
		for rows.Next() {
			var row T
			fields := make([]any, len(t.Columns))
			for i, c := range t.Columns {
				fields[i] = scanner{c.Field(&row)}
			}
			if err := rows.Scan(fields...); err != nil {
				yield(zero, fmt.Errorf("reading %s: %w", t.View, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(zero, fmt.Errorf("reading %s: %w", t.View, err))
		}
	}
}

func selectSQL[T any](t *table.Table[T], f sink.Filter) (string, []any) {
	if f.Limit > 0 && t.Time != "" && f.Since.IsZero() {
		// It narrows nothing, but has SQLite go along the time, and stop at the limit, instead of sorting all rows.
		f.Since = table.Earliest
	}
	where, args := whereSQL(t, f)
	if f.Limit > 0 && t.Time != "" {
		// There are few clusters. The sign keeps SQLite from looking for all rows of one, to sort them.
		where = strings.Replace(where, " cluster = ?", " +cluster = ?", 1)
	}
	between, after := ", ", ""
	if f.Newest {
		between, after = " DESC, ", " DESC"
	}
	query := "SELECT " + strings.Join(t.Names(), ", ") + " FROM " + t.View + where + " ORDER BY " + strings.Join(t.Order, between) + after
	if f.Limit > 0 {
		query += fmt.Sprintf(" LIMIT %d OFFSET %d", f.Limit, f.Offset)
	}
	return query, args
}

// whereSQL is the condition of a query, empty for none.
func whereSQL[T any](t *table.Table[T], f sink.Filter) (string, []any) {
	var where []string
	var args []any
	for _, c := range t.Conditions(f) {
		where = append(where, c.Column+" "+c.Operator+" ?")
		if at, ok := c.Value.(time.Time); ok {
			args = append(args, formatTime(at))
		} else {
			args = append(args, c.Value)
		}
	}
	if len(f.Results) > 0 && t.Has("result") {
		where = append(where, "result IN (?"+strings.Repeat(", ?", len(f.Results)-1)+")")
		for _, r := range f.Results {
			args = append(args, r)
		}
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
