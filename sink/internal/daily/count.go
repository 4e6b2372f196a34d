package daily

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// Count implements sink.Counter on a snapshot.
func Count(ctx context.Context, s Snapshot, kind Kind, f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	return func(yield func(sink.Group, error) bool) {
		q, days, err := plan(ctx, s, kind, f, g)
		if err == nil && len(days) == 0 && !g.Workloads {
			for group, err := range s.Count(ctx, kind, f, g) {
				if !yield(group, err) || err != nil {
					return
				}
			}
			return
		}
		m := newMerger(g)
		if err == nil {
			err = m.read(ctx, s, kind, f, q, days)
		}
		if err != nil {
			yield(sink.Group{}, err)
			return
		}
		for _, group := range m.ordered() {
			if !yield(group, nil) {
				return
			}
		}
	}
}

// Workloads calls each with every group of failures, and of each of its workloads with the time of the last failure, and
// whether any of its failures is more than a repetition.
func Workloads(ctx context.Context, s Snapshot, f sink.Filter, g sink.Grouping, each func(values []string, workloads iter.Seq2[time.Time, bool])) error {
	g.Workloads, g.New = true, true
	q, days, err := plan(ctx, s, Failures, f, g)
	if err != nil {
		return err
	}
	m := newMerger(g)
	if err := m.read(ctx, s, Failures, f, q, days); err != nil {
		return err
	}
	for _, one := range m.groups {
		each(one.Values, func(yield func(time.Time, bool) bool) {
			for _, w := range one.workloads {
				if !yield(time.UnixMicro(w.last).UTC(), w.fresh) {
					return
				}
			}
		})
	}
	return nil
}

// plan finds the question, and the days that its answers are to be taken of; none where all is to be counted.
func plan(ctx context.Context, s Snapshot, kind Kind, f sink.Filter, g sink.Grouping) (q question, days []time.Time, err error) {
	q, known := find(kind, f, g)
	from, until := whole(f)
	if !known || !from.Before(until) {
		return q, nil, nil
	}
	for a, err := range s.Answers(ctx, sealed, AnyScope, Name(from), Name(until)) {
		if err != nil {
			return q, nil, err
		}
		at, err := parse(a.Day)
		if err != nil {
			return q, nil, err
		}
		days = append(days, at)
	}
	slices.SortFunc(days, time.Time.Compare)
	return q, days, nil
}

// whole are the whole days of a period: the first, and the one behind the last.
func whole(f sink.Filter) (from, until time.Time) {
	from, until = first, last
	if f.Since.After(from) {
		from = f.Since.UTC().Add(day - 1).Truncate(day)
	}
	if !f.Until.IsZero() && f.Until.Before(until) {
		until = f.Until.UTC().Truncate(day)
	}
	return from, until
}

// read merges the answers of some days, and the rows of all other time.
func (m *merger) read(ctx context.Context, s Snapshot, kind Kind, f sink.Filter, q question, days []time.Time) error {
	if err := m.answers(ctx, s, f, q, days); err != nil {
		return err
	}
	g := m.grouping
	g.Limit, g.Workloads = 0, false
	if m.grouping.Workloads {
		g.By = slices.Concat(g.By, workload)
	}
	for _, gap := range gaps(f, days) {
		for row, err := range s.Count(ctx, kind, gap, g) {
			if err != nil {
				return err
			}
			m.add(m.group(row))
		}
	}
	return nil
}

// answers merges what is stored of some days.
func (m *merger) answers(ctx context.Context, s Snapshot, f sink.Filter, q question, days []time.Time) error {
	if len(days) == 0 {
		return nil
	}
	scope := AnyScope
	if q.scoped && f.Policy != "" {
		scope = table.Text(f.Policy)
	}
	fixed, _ := split(f)
	from, until := Name(days[0]), Name(days[len(days)-1].Add(day))
	for a, err := range s.Answers(ctx, q.name, scope, from, until) {
		if err != nil {
			return err
		}
		at, err := parse(a.Day)
		if err != nil {
			return err
		}
		err = decode(a.Content, len(q.by), func(one *group) {
			if m.project(q, fixed, at, one) {
				m.add(one)
			}
		})
		if err != nil {
			return fmt.Errorf("reading %q of %s: %w", q.name, a.Day, err)
		}
	}
	return nil
}

// gaps are the parts of a period that are not of some days, which are in order.
func gaps(f sink.Filter, days []time.Time) (out []sink.Filter) {
	begin := f.Since
	for _, d := range days {
		if begin.IsZero() || begin.Before(d) {
			gap := f
			gap.Since, gap.Until = begin, d
			out = append(out, gap)
		}
		begin = d.Add(day)
	}
	if f.Until.IsZero() || begin.Before(f.Until) {
		f.Since = begin
		out = append(out, f)
	}
	return out
}
