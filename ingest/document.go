package ingest

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// documentBegins tells whether the value that begins here goes on over the end of its line.
//
// A line of JSON lines that was cut at an unlucky place goes well with one line more, never with two. A document may be
// broken on its third line, but then its second is not a whole value.
func (r *Reader) documentBegins() bool {
	if !startsValue(r.text.buf[0]) {
		return false
	}
	// A first line that is complete does not wait for more.
	first := r.text.firstLines(1)[0]
	if !bytes.HasSuffix(first, []byte("\n")) || valueEnd(first) != endsLater {
		return false
	}
	lines := r.text.firstLines(3)
	if len(lines) < 2 {
		return false
	}
	if valueEnd(slices.Concat(lines...)) != endsNever {
		return true
	}
	second := trimSpace(lines[1])
	whole := startsValue(second[0]) && jsontext.Value(second).IsValid(lenient)
	return !whole && valueEnd(slices.Concat(lines[:2]...)) != endsNever
}

// firstLines returns up to count lines that are not empty, as far as lookahead goes. The last may be cut.
func (t *text) firstLines(count int) (lines [][]byte) {
	for begin, n := 0, 0; ; {
		i := bytes.IndexByte(t.buf[n:], '\n')
		if i < 0 {
			n = len(t.buf)
			if n < lookahead && t.more() {
				continue
			}
		} else {
			n += i + 1
		}
		// The line end stays: a string must not go on behind it.
		if line := t.buf[begin:n]; len(trimSpace(line)) > 0 {
			lines = append(lines, line)
		}
		if i < 0 || len(lines) == count {
			return lines
		}
		begin = n
	}
}

const (
	endsHere = iota
	endsLater
	endsNever
)

// valueEnd tells whether data begins with a complete value, or may be the beginning of one.
func valueEnd(data []byte) int {
	_, err := jsontext.NewDecoder(bytes.NewReader(data), lenient).ReadValue()
	switch {
	case err == nil:
		return endsHere
	case errors.Is(err, io.ErrUnexpectedEOF):
		return endsLater
	default:
		return endsNever
	}
}
