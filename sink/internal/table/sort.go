package table

import (
	"bytes"
	"slices"
	"time"
)

// Sorted gives rows their keys and puts them in the one order that every writer takes its locks in, so that no two
// writers wait for each other. Rows of one key follow each other, in the order that they came in.
func (t *Table[T]) Sorted(rows []T) []Row[T] {
	keyed := make([]Row[T], len(rows))
	for i := range rows {
		keyed[i] = Row[T]{t.Key(&rows[i]), &rows[i]}
	}
	at := t.time()
	slices.SortStableFunc(keyed, func(a, b Row[T]) int {
		// By time first: what is written together then stands together.
		if at != nil {
			if c := at(a.Row).Compare(at(b.Row)); c != 0 {
				return c
			}
		}
		return bytes.Compare(a.Key[:], b.Key[:])
	})
	return keyed
}

// First keeps the first row of each key of sorted rows.
func First[T any](rows []Row[T]) []Row[T] {
	return slices.CompactFunc(rows, func(a, b Row[T]) bool { return a.Key == b.Key })
}

// Sum makes one row of all rows of a key, in sorted rows. The rows that came in stay as they are.
func Sum[T any](rows []Row[T], count func(*T) *int64) []Row[T] {
	var out []Row[T]
	for _, r := range rows {
		if n := len(out); n > 0 && out[n-1].Key == r.Key {
			*count(out[n-1].Row) += *count(r.Row)
			continue
		}
		own := *r.Row
		out = append(out, Row[T]{r.Key, &own})
	}
	return out
}

// Days are the days (midnight UTC) that rows fall on, in order.
func (t *Table[T]) Days(rows []Row[T]) []time.Time {
	at := t.time()
	var days []time.Time
	for _, r := range rows {
		day := Day(at(r.Row))
		if len(days) == 0 || !days[len(days)-1].Equal(day) {
			days = append(days, day)
		}
	}
	return days
}

// Day is the midnight (UTC) that a time's day begins with.
func Day(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func (t *Table[T]) time() func(*T) time.Time {
	for _, c := range t.Columns {
		if c.Name == t.Time {
			return func(row *T) time.Time { return *c.Field(row).(*time.Time) }
		}
	}
	return nil
}
