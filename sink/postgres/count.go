package postgres

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/vapshadow/vapshadow/sink"
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
	Request: "(cluster, audit_id, item)",
}

// CountFailures implements sink.Counter.
func (s *Store) CountFailures(ctx context.Context, f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	return count(ctx, s, table.Failures, f, g)
}

// CountRollups implements sink.Counter.
func (s *Store) CountRollups(ctx context.Context, f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	return count(ctx, s, table.Rollups, f, g)
}

func count[T any](ctx context.Context, s *Store, t *table.Table[T], f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	return func(yield func(sink.Group, error) bool) {
		where, args := whereSQL(t, f)
		query, err := table.CountSQL(t, dialect, where, g)
		if err != nil {
			yield(sink.Group{}, err)
			return
		}
		rows, err := s.pool.Query(ctx, query, args...)
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
