package postgres

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// What to do with a row that is there already.
const (
	keep = "DO NOTHING"
	add  = "DO UPDATE SET count = t.count + excluded.count"
)

// maxRows is how many rows one statement inserts.
const maxRows = 5000

// insert queues rows of a table: an array for each column, which takes one statement however many rows there are.
func insert[T any](out *pgx.Batch, t *table.Table[T], rows []table.Row[T], conflict string) {
	if len(rows) == 0 {
		return
	}
	sql := insertSQL(t, conflict)
	for some := range slices.Chunk(rows, maxRows) {
		args := []any{column(some, func(r table.Row[T]) []byte { return r.Key[:] })}
		for _, c := range t.Columns {
			args = append(args, values(some, c))
		}
		out.Queue(sql, args...)
	}
}

func insertSQL[T any](t *table.Table[T], conflict string) string {
	names := strings.Join(t.Names(), ", ")
	arrays, values := []string{"$1::bytea[]"}, []string{"row_key"}
	for i, c := range t.Columns {
		typ, value := typeOf(c.Field(new(T))), c.Name
		if typ == "list" {
			// Arrays of arrays would all have to be of one length, so each goes as a text.
			typ, value = "text", c.Name+"::text[]"
		}
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+2, typ))
		values = append(values, value)
	}
	target := "row_key"
	if t.Time != "" {
		target = t.Time + ", row_key"
	}
	return fmt.Sprintf("INSERT INTO vapshadow.%s AS t (row_key, %s) SELECT %s FROM unnest(%s) AS u(row_key, %s) ON CONFLICT (%s) %s",
		t.Name, names, strings.Join(values, ", "), strings.Join(arrays, ", "), names, target, conflict)
}

func typeOf(field any) string {
	switch field.(type) {
	case *string:
		return "text"
	case *int32:
		return "integer"
	case *int64:
		return "bigint"
	case *bool:
		return "boolean"
	case *time.Time:
		return "timestamptz"
	case *[]string:
		return "list"
	default:
		panic(fmt.Sprintf("no column holds a %T", field))
	}
}

// values is what a column holds in some rows.
func values[T any](rows []table.Row[T], c table.Column[T]) any {
	switch c.Field(new(T)).(type) {
	case *string:
		return column(rows, func(r table.Row[T]) string { return *c.Field(r.Row).(*string) })
	case *int32:
		return column(rows, func(r table.Row[T]) int32 { return *c.Field(r.Row).(*int32) })
	case *int64:
		return column(rows, func(r table.Row[T]) int64 { return *c.Field(r.Row).(*int64) })
	case *bool:
		return column(rows, func(r table.Row[T]) bool { return *c.Field(r.Row).(*bool) })
	case *time.Time:
		return column(rows, func(r table.Row[T]) time.Time { return *c.Field(r.Row).(*time.Time) })
	default:
		return column(rows, func(r table.Row[T]) string { return arrayLiteral(*c.Field(r.Row).(*[]string)) })
	}
}

var arrayEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// arrayLiteral writes a list as Postgres reads arrays.
func arrayLiteral(list []string) string {
	if len(list) == 0 {
		return "{}"
	}
	var b strings.Builder
	for i, s := range list {
		b.WriteString([]string{`{"`, `,"`}[min(i, 1)])
		b.WriteString(arrayEscapes.Replace(s))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}
