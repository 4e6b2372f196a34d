package ingest

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// deepScan is how deep a body may be nested for passValue. Deeper ones are left to the strict decoder.
const deepScan = 64

// What may stand next in a JSON value.
const (
	wantValue = iota
	wantKey
	wantKeyOrEnd
	wantValueOrEnd
	wantColon
	wantCommaOrEnd
)

// passValue passes over the JSON value that data begins with, and returns its length. It is not ok where there is none,
// or where it is nested deeply. Keys may come twice, and strings may hold what is no Unicode.
func passValue(data []byte) (n int, ok bool) {
	var objects uint64 // a bit for each level that is open: whether it is an object
	depth, want := 0, wantValue
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case isSpace(c):
			i++
			continue
		case c == '"' && want != wantColon && want != wantCommaOrEnd:
			length, ok := passString(data[i:])
			if !ok {
				return 0, false
			}
			i += length
			if want == wantKey || want == wantKeyOrEnd {
				want = wantColon
				continue
			}
			want = wantCommaOrEnd
		case c == ':' && want == wantColon:
			i++
			want = wantValue
			continue
		case c == ',' && want == wantCommaOrEnd && depth > 0:
			i++
			want = wantValue
			if objects&1 == 1 {
				want = wantKey
			}
			continue
		case c == '{' && (want == wantValue || want == wantValueOrEnd) && depth < deepScan:
			i++
			depth++
			objects = objects<<1 | 1
			want = wantKeyOrEnd
			continue
		case c == '[' && (want == wantValue || want == wantValueOrEnd) && depth < deepScan:
			i++
			depth++
			objects <<= 1
			want = wantValueOrEnd
			continue
		case c == '}' && depth > 0 && objects&1 == 1 && (want == wantKeyOrEnd || want == wantCommaOrEnd),
			c == ']' && depth > 0 && objects&1 == 0 && (want == wantValueOrEnd || want == wantCommaOrEnd):
			i++
			depth--
			objects >>= 1
			want = wantCommaOrEnd
		case want == wantValue || want == wantValueOrEnd:
			length := passLiteral(data[i:])
			if length == 0 {
				return 0, false
			}
			i += length
			want = wantCommaOrEnd
		default:
			return 0, false
		}
		if depth == 0 {
			return i, true
		}
	}
	return 0, false
}

// passLiteral is the length of the number, true, false or null that data begins with; 0 where there is none.
func passLiteral(data []byte) int {
	for _, word := range [...]string{"true", "false", "null"} {
		if len(data) >= len(word) && string(data[:len(word)]) == word {
			return len(word)
		}
	}
	return passNumber(data)
}

func passNumber(data []byte) int {
	i := 0
	if i < len(data) && data[i] == '-' {
		i++
	}
	whole := digits(data[i:])
	if whole == 0 || whole > 1 && data[i] == '0' {
		return 0
	}
	i += whole
	if i < len(data) && data[i] == '.' {
		n := digits(data[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		n := digits(data[i:])
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

func digits(data []byte) int {
	n := 0
	for n < len(data) && data[n] >= '0' && data[n] <= '9' {
		n++
	}
	return n
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// unusual has the high bit of each byte set that is a quote, a backslash, a control character or no ASCII; bits above
// the first such byte may be set wrongly.
func unusual(w uint64) uint64 {
	quote, backslash := w^(ones*'"'), w^(ones*'\\')
	return ((quote - ones) | (backslash - ones) | (w - ones*0x20) | w) & highs
}

// passString passes over the JSON string that data begins with, and returns its length with the quotes. Bytes that are
// no Unicode pass, and so do escapes that make none.
func passString(data []byte) (n int, ok bool) {
	if len(data) == 0 || data[0] != '"' {
		return 0, false
	}
	for i := 1; ; {
		for i+8 <= len(data) {
			mask := unusual(binary.LittleEndian.Uint64(data[i:]))
			if mask != 0 {
				i += bits.TrailingZeros64(mask) / 8
				break
			}
			i += 8
		}
		if i >= len(data) {
			return 0, false
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\':
			length := passEscape(data[i:])
			if length == 0 {
				return 0, false
			}
			i += length
		case c < 0x20:
			return 0, false
		default:
			i++
		}
	}
}

// passText passes over the JSON string that begins at a place, and returns where it ends, and whether it has escapes. A
// string that is no Unicode is odd.
func passText(data []byte, at int) (end int, escaped bool) {
	if at >= len(data) || data[at] != '"' {
		return odd, false
	}
	for i := at + 1; ; {
		for i+8 <= len(data) {
			mask := unusual(binary.LittleEndian.Uint64(data[i:]))
			if mask != 0 {
				i += bits.TrailingZeros64(mask) / 8
				break
			}
			i += 8
		}
		if i >= len(data) {
			return odd, false
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			length := passUnicodeEscape(data[i:])
			if length == 0 {
				return odd, false
			}
			escaped = true
			i += length
		case c < 0x20:
			return odd, false
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return odd, false
			}
			i += size
		}
	}
}

// passUnicodeEscape is the length of the escape that data begins with, or of the two that make a surrogate pair; 0 where
// it is none, or half a pair.
func passUnicodeEscape(data []byte) int {
	n := passEscape(data)
	if n != 6 || data[2]|0x20 != 'd' || data[3] < '8' {
		return n
	}
	if data[3]|0x20 >= 'c' { // The second half of a pair.
		return 0
	}
	low := data[6:]
	if passEscape(low) != 6 || low[2]|0x20 != 'd' || low[3]|0x20 < 'c' {
		return 0
	}
	return 12
}

// passEscape is the length of the escape that data begins with; 0 where it is none.
func passEscape(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	switch data[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		for _, c := range data[2:min(6, len(data))] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		if len(data) >= 6 {
			return 6
		}
	}
	return 0
}
