package table

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vapshadow/vapshadow/sink"
)

// maxIndexed is how many bytes of a text an index can hold: an entry of a Postgres index has at most 2,704 bytes, and
// up to three such texts. No name of Kubernetes' is as long.
const maxIndexed = 512

// Earliest and Latest bound the times that are stored: what RFC 3339 can write.
var (
	Earliest = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	Latest   = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
)

// Clean returns the batch as stores hold it. The batch that came in stays as it is. Moves and deliveries are not
// cleaned: stores keep those byte for byte.
//
//   - What is no UTF-8, and a NUL byte, become U+FFFD.
//   - A text of an index that is longer than 512 bytes is cut; a digest of the whole at its end keeps it apart from others.
//   - Times are in UTC, in whole microseconds, in the years 0 to 9999; minutes are whole.
//   - An empty list is nil.
func Clean(b *sink.Batch) *sink.Batch {
	rollups := slices.Clone(b.Rollups)
	for i := range rollups {
		rollups[i].Minute = rollups[i].Minute.UTC().Truncate(time.Minute)
	}
	return &sink.Batch{
		Moves: b.Moves, Deliveries: b.Deliveries,
		Failures:    Failures.clean(b.Failures),
		Annotations: Annotations.clean(b.Annotations),
		Rollups:     Rollups.clean(rollups),
		Ledger:      Ledger.clean(b.Ledger),
		DeadLetters: DeadLetters.clean(b.DeadLetters),
		Resolved:    DeadLetters.clean(b.Resolved),
		Policies:    Policies.clean(b.Policies),
	}
}

func (t *Table[T]) clean(rows []T) []T {
	rows = slices.Clone(rows)
	for i := range rows {
		for _, c := range t.Columns {
			switch f := c.Field(&rows[i]).(type) {
			case *string:
				*f = Text(*f)
				if c.Indexed {
					*f = cut(*f)
				}
			case *[]string:
				*f = texts(*f)
			case *time.Time:
				*f = Time(*f)
			}
		}
	}
	return rows
}

// Text is a text as stores hold it.
func Text(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Time is a time as stores hold it.
func Time(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	switch {
	case t.Before(Earliest):
		return Earliest
	case t.After(Latest):
		return Latest
	default:
		return t
	}
}

func texts(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Text(s)
	}
	return out
}

func cut(s string) string {
	if len(s) <= maxIndexed {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	tail := "…" + hex.EncodeToString(sum[:8])
	end := maxIndexed - len(tail)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + tail
}
