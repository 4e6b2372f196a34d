// Package table says once, for all stores, how rows become columns: their names, their order, and what tells two rows
// apart.
package table

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// Column is one column of a table.
type Column[T any] struct {
	Name string
	// Field points to the field of a row: *string, *int32, *int64, *bool, *time.Time or *[]string.
	Field func(*T) any
	// Key: the column is part of what tells two rows apart.
	Key bool
	// Indexed: an index holds the text, so its length is bounded. See Clean.
	Indexed bool
}

// Table is how rows of one kind are laid out.
type Table[T any] struct {
	Name string
	// View is what readers see of it. It has all the columns, under the same names.
	View    string
	Columns []Column[T]
	// Time is the column that the table is split into days by; empty for none.
	Time string
	// Order are the columns that readers get the rows in the order of.
	Order []string
}

// Row is a row with its key.
type Row[T any] struct {
	// Key is a digest of the key columns: 16 bytes, however long these are.
	Key [16]byte
	Row *T
}

// Has says whether there is a column of a name.
func (t *Table[T]) Has(name string) bool {
	return slices.ContainsFunc(t.Columns, func(c Column[T]) bool { return c.Name == name })
}

// Names are the names of the columns.
func (t *Table[T]) Names() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

// Key is the digest of a row's key columns.
func (t *Table[T]) Key(row *T) [16]byte {
	var buf []byte
	for _, c := range t.Columns {
		if c.Key {
			buf = appendField(buf, c.Field(row))
		}
	}
	return digest(buf)
}

// Digest is the key of what a few texts name.
func Digest(parts ...string) [16]byte {
	var buf []byte
	for i := range parts {
		buf = appendField(buf, &parts[i])
	}
	return digest(buf)
}

func digest(buf []byte) (key [16]byte) {
	sum := sha256.Sum256(buf)
	copy(key[:], sum[:])
	return key
}

// appendField writes a field so that no two rows of other fields read the same: a text goes behind its length.
func appendField(buf []byte, field any) []byte {
	switch f := field.(type) {
	case *string:
		buf = binary.AppendUvarint(buf, uint64(len(*f)))
		return append(buf, *f...)
	case *int32:
		return binary.AppendVarint(buf, int64(*f))
	case *int64:
		return binary.AppendVarint(buf, *f)
	case *bool:
		if *f {
			return append(buf, 1)
		}
		return append(buf, 0)
	case *time.Time:
		return binary.AppendVarint(buf, f.UnixMicro())
	default:
		panic(fmt.Sprintf("a column of type %T cannot be part of a key", field))
	}
}
