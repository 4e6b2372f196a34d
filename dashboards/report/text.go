package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text from the log fit to be shown on one line of a terminal: no escape sequences, no control, invisible
// or direction characters, any white space a space.
func clean(s string) string {
	var out strings.Builder
	space := false
	for len(s) > 0 {
		if n := escapeSequence(s); n > 0 {
			s = s[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		switch {
		case unicode.IsSpace(r):
			space = true
			continue
		case !unicode.IsGraphic(r):
			continue
		}
		if space && out.Len() > 0 {
			out.WriteByte(' ')
		}
		space = false
		out.WriteRune(r)
	}
	return out.String()
}

// escapeSequence returns the length of the terminal escape sequence that s begins with, 0 if it begins with none: ECMA-48
// control sequences, control strings (titles, links) with their content, and two-character escapes.
func escapeSequence(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	const controlStrings = "]P^_X"
	switch r {
	case '\x1b':
		if n == len(s) {
			return n
		}
		switch kind := s[n]; {
		case kind == '[':
			return n + 1 + controlSequence(s[n+1:])
		case strings.IndexByte(controlStrings, kind) >= 0:
			return n + 1 + controlString(s[n+1:])
		case kind < utf8.RuneSelf:
			return n + 1
		}
		return n
	case '\u009b':
		return n + controlSequence(s[n:])
	case '\u0090', '\u0098', '\u009d', '\u009e', '\u009f':
		return n + controlString(s[n:])
	}
	return 0
}

// controlSequence returns how much of s belongs to a control sequence: up to its final character.
func controlSequence(s string) int {
	for i := range len(s) {
		if c := s[i]; c >= '@' && c <= '~' {
			return i + 1
		} else if c < ' ' || c > '~' {
			return i
		}
	}
	return len(s)
}

// controlString returns how much of s belongs to a control string: up to its terminator, or, as a terminal waits for
// one, all of it.
func controlString(s string) int {
	end := len(s)
	for _, terminator := range []string{"\a", "\x1b\\", "\u009c"} {
		if i := strings.Index(s, terminator); i >= 0 {
			end = min(end, i+len(terminator))
		}
	}
	return end
}

// short cuts text to a number of characters, the last of which says that it was cut.
func short(s string, limit int) string {
	if limit <= 0 || utf8.RuneCountInString(s) <= limit {
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

// share writes how much of a whole there is. It rounds down, so that 100 % are all, and says 0 of 0 where there is no
// whole.
func share(part, whole int64) string {
	switch {
	case whole == 0:
		return "0 of 0"
	case part > 0 && part*100 < whole:
		return "<1 %"
	}
	return strconv.FormatInt(part*100/whole, 10) + " %"
}

// several writes a count and its noun: "1 policy", "2 policies".
func several(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// reasons lists counts, the greatest first: "ReadOnly 12, OtherStage 3".
func reasons(counts map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(-cmp.Compare(counts[a], counts[b]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = clean(name) + " " + number(counts[name])
	}
	return strings.Join(names, ", ")
}

func total(counts map[string]int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// wrap breaks text at spaces into lines of at most width characters; a longer word has a line of its own.
func wrap(s string, width int) []string {
	var lines []string
	line, length := "", 0
	for word := range strings.FieldsSeq(s) {
		n := utf8.RuneCountInString(word)
		if length > 0 && length+1+n > width {
			lines = append(lines, line)
			line, length = "", 0
		}
		if length > 0 {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+n
	}
	if length > 0 || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}
