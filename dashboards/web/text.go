package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// plain shows what cannot be seen: control characters, and those that turn the direction of what follows, are written
// out, so that a name cannot pass for another.
func plain(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			out.WriteByte(' ')
		case hidden(r):
			fmt.Fprintf(&out, "\\u%04x", r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

func hidden(r rune) bool {
	const joiners = "\u200c\u200d" // letters of some scripts, and emoji, need them
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && !strings.ContainsRune(joiners, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// short cuts a text for a table.
func short(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// number writes a count with its thousands apart.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// several writes a count with its noun.
func several(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// percent is rounded down to a tenth, so that 100% is said of all only, and more than none is never 0%.
func percent(part, whole int64) string {
	switch {
	case whole == 0:
		return "0 of 0"
	case part == whole:
		return "100%"
	case part > 0 && part*1000 < whole:
		return "<0.1%"
	}
	tenths := int64(float64(part) / float64(whole) * 1000)
	return fmt.Sprintf("%d.%d%%", tenths/10, tenths%10)
}

// moment writes a time with its date, in UTC.
func moment(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// minute writes a time without its seconds.
func minute(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

func orNone(s, none string) string {
	if s == "" {
		return none
	}
	return s
}
