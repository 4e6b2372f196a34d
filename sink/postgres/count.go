package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/daily"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// The database's own collation may sort texts otherwise.
const bytewise = ` COLLATE "C"`

var dialect = table.Dialect{
	Schema: "vapshadow.",
	Text:   func(column string) string { return "(" + column + ")" + bytewise },
	Number: func(column string) string { return column + "::text" + bytewise },
	Bool:   func(column string) string { return column + "::text" + bytewise },
	List:   func(column string) string { return "array_to_string(" + column + ", ', ')" + bytewise },
	Span: func(column string, seconds int64) string {
		return fmt.Sprintf("floor(extract(epoch FROM %s) / %d)::bigint * %d", column, seconds, seconds)
	},
	// The time comes first: it alone tells most of them apart.
	Request: "(stage_timestamp, item, cluster, audit_id)",
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
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func count[T any](ctx context.Context, db queryer, t *table.Table[T], f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	return func(yield func(sink.Group, error) bool) {
		where, args := whereSQL(t, f)
		query, err := table.CountSQL(t, dialect, where, g)
		if err != nil {
			yield(sink.Group{}, err)
			return
		}
		rows, err := db.Query(ctx, query, args...)
		if err != nil {
			yield(sink.Group{}, fmt.Errorf("counting %s: %w", t.View, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			row := sink.Group{Values: make([]string, len(g.By))}
			var span int64
			if err := rows.Scan(groupFields(&row, &span)...); err != nil {
				yield(sink.Group{}, fmt.Errorf("counting %s: %w", t.View, err))
				return
			}
			row.First, row.Last = row.First.UTC(), row.Last.UTC()
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
		fields = append(fields, &row.Values[i])
	}
	return append(fields, span, &row.Count, &row.Requests, &row.New, &row.Sample, &row.First, &row.Last)
}
