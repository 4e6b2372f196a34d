package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/daily"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

var dialect = table.Dialect{
	// The sign keeps SQLite from going along an index of the columns to group by, past the rows of all time.
	Text:   func(column string) string { return "+" + column },
	Number: func(column string) string { return "CAST(" + column + " AS TEXT)" },
	Bool:   func(column string) string { return "CASE WHEN " + column + " THEN 'true' ELSE 'false' END" },
	List: func(column string) string {
		return "coalesce((SELECT group_concat(value, ', ') FROM json_each(" + column + ")), '')"
	},
	Span: func(column string, seconds int64) string {
		at := "CAST(strftime('%s', " + column + ") AS INTEGER)"
		// The remainder of a time before 1970 is negative.
		return fmt.Sprintf("%s - ((%s %% %d) + %d) %% %d", at, at, seconds, seconds, seconds)
	},
	Request: "stage_timestamp || item || ' ' || length(cluster) || cluster || audit_id",
}

// CountFailures implements sink.Counter.
func (s *Store) CountFailures(ctx context.Context, f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	return s.countWithin(ctx, daily.Failures, f, g)
}

// CountRollups implements sink.Counter.
func (s *Store) CountRollups(ctx context.Context, f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	return s.countWithin(ctx, daily.Rollups, f, g)
}

func (s *Store) countWithin(ctx context.Context, kind daily.Kind, f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	return func(yield func(sink.Group, error) bool) {
		err := s.within(ctx, func(one snapshot) error {
			for group, err := range daily.Count(ctx, one, kind, f, g) {
				if err != nil {
					return err
				}
				if !yield(group, nil) {
					return errEnough
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(sink.Group{}, err)
		}
	}
}

// errEnough: whoever reads has read enough.
var errEnough = errors.New("enough has been read")

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func count[T any](ctx context.Context, db queryer, t *table.Table[T], f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	return func(yield func(sink.Group, error) bool) {
		where, args := whereSQL(t, f)
		query, err := table.CountSQL(t, dialect, where, g)
		if err != nil {
			yield(sink.Group{}, err)
			return
		}
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			yield(sink.Group{}, fmt.Errorf("counting %s: %w", t.View, err))
			return
		}
		defer rows.Close() //nolint:errcheck // what went wrong is in rows.Err
		for rows.Next() {
			row := sink.Group{Values: make([]string, len(g.By))}
			var span int64
			if err := rows.Scan(groupFields(&row, &span)...); err != nil {
				yield(sink.Group{}, fmt.Errorf("counting %s: %w", t.View, err))
				return
			}
			if g.Every > 0 {
				row.Span = time.Unix(span, 0).UTC()
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(sink.Group{}, fmt.Errorf("counting %s: %w", t.View, err))
		}
	}
}

func groupFields(row *sink.Group, span *int64) []any {
	var fields []any
	for i := range row.Values {
		fields = append(fields, scanner{&row.Values[i]})
	}
	return append(fields, scanner{span}, scanner{&row.Count}, scanner{&row.Requests}, scanner{&row.New}, scanner{&row.Sample}, scanner{&row.First}, scanner{&row.Last})
}
