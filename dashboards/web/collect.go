package web

import (
	"context"
	"iter"

	"github.com/vapshadow/vapshadow/sink"
)

// collect reads rows to their end. Who calls it has set a limit.
func collect[T any](rows iter.Seq2[T, error]) ([]T, error) {
	var out []T
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// groups counts failures for a table; one more than a table shows, to know whether there are more.
func groups(ctx context.Context, r Reader, f sink.Filter, by ...string) ([]sink.Group, error) {
	return collect(r.CountFailures(ctx, f, sink.Grouping{By: by, Limit: top + 1}))
}

// newGroups are groups that tell what is new of them, too.
func newGroups(ctx context.Context, r Reader, f sink.Filter, by ...string) ([]sink.Group, error) {
	return collect(r.CountFailures(ctx, f, sink.Grouping{By: by, New: true, Limit: top + 1}))
}

// stopping are the failures that have a request rejected, were the binding set to [Deny].
func stopping(f sink.Filter) sink.Filter {
	f.Stopping = true
	return f
}
