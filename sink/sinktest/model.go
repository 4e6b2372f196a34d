package sinktest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// The model of a table: a sorted list. It shares the columns with the stores, and nothing of how they write or sort.

// ordered are rows as a reader gives them: the first of each key, sorted.
func ordered[T any](t *table.Table[T], rows []T) []T {
	var out []T
	seen := map[string]bool{}
	for _, row := range rows {
		if name := naturalKey(t, row); !seen[name] {
			seen[name] = true
			out = append(out, row)
		}
	}
	sortRows(t, out)
	return out
}

// summed are counts as a reader gives them.
func summed[T any](t *table.Table[T], rows []T, count func(*T) *int64) []T {
	var out []T
	at := map[string]int{}
	for _, row := range rows {
		name := naturalKey(t, row)
		if i, ok := at[name]; ok {
			*count(&out[i]) += *count(&row)
			continue
		}
		at[name] = len(out)
		out = append(out, row)
	}
	sortRows(t, out)
	return out
}

func naturalKey[T any](t *table.Table[T], row T) string {
	var b strings.Builder
	for _, c := range t.Columns {
		if c.Key {
			fmt.Fprintf(&b, "%q,", text(c.Field(&row)))
		}
	}
	return b.String()
}

func sortRows[T any](t *table.Table[T], rows []T) {
	slices.SortStableFunc(rows, func(a, b T) int {
		for _, name := range t.Order {
			i := slices.IndexFunc(t.Columns, func(c table.Column[T]) bool { return c.Name == name })
			if c := compare(t.Columns[i].Field(&a), t.Columns[i].Field(&b)); c != 0 {
				return c
			}
		}
		return 0
	})
}

func compare(a, b any) int {
	switch a := a.(type) {
	case *int32:
		return cmp.Compare(*a, *b.(*int32))
	case *int64:
		return cmp.Compare(*a, *b.(*int64))
	default:
		return cmp.Compare(text(a), text(b))
	}
}

// text writes a field so that texts sort as the fields do; numbers are not meant.
func text(field any) string {
	switch f := field.(type) {
	case *string:
		return *f
	case *time.Time:
		return f.Format("2006-01-02T15:04:05.000000")
	case *bool:
		return fmt.Sprint(*f)
	case *int32:
		return fmt.Sprint(*f)
	case *int64:
		return fmt.Sprint(*f)
	default:
		panic(fmt.Sprintf("a %T is no part of a key", field))
	}
}
