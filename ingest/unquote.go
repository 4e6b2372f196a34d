package ingest

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// unquoted returns the text of a JSON string; false for any other value. Bytes that are no Unicode stay as they are, so
// that whoever decodes the text finds them. Half a surrogate has no bytes to stay, and becomes U+FFFD.
func unquoted(v jsontext.Value) ([]byte, bool) {
	if v.Kind() != '"' {
		return nil, false
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err == nil || utf8.Valid(v) {
		return text, true
	}
	text = text[:0]
	for inner := v[1 : len(v)-1]; len(inner) > 0; {
		n := validPrefix(inner)
		text, _ = jsontext.AppendUnquote(text, bytes.Join([][]byte{nil, inner[:n], nil}, []byte{'"'}))
		if inner = inner[n:]; len(inner) > 0 {
			text, inner = append(text, inner[0]), inner[1:]
		}
	}
	return text, true
}

// validPrefix is how many bytes of text are Unicode.
func validPrefix(text []byte) int {
	for n := 0; n < len(text); {
		r, size := utf8.DecodeRune(text[n:])
		if r == utf8.RuneError && size == 1 {
			return n
		}
		n += size
	}
	return len(text)
}

// stringOf returns the text of a JSON string, and nothing for any other value.
func stringOf(v jsontext.Value) string {
	text, _ := unquoted(v)
	return string(text)
}
