package ingest

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// chunkSize is how much is read at a time. An entry that is held on to holds on to its chunk.
const chunkSize = 256 << 10

// errLineEnd ends text that is not the end of its source: a line, or an entry.
var errLineEnd = errors.New("end of line")

// text is what is still to be read of a stream, the beginning of it in memory. What was taken out of it is never
// written over: it moves on through fresh memory, so entries need no copy.
type text struct {
	r   io.Reader
	buf []byte // the part in memory; its capacity is ours to read into
	at  Position
	err error // why r has no more
}

func newText(r io.Reader, at Position) *text { return &text{r: r, at: at} }

// wholeText is text that is in memory already.
func wholeText(data []byte, at Position) *text {
	return &text{buf: slices.Clip(data), at: at, err: errLineEnd}
}

// more reads on, until there is more in memory or nothing left.
func (t *text) more() bool {
	if len(t.buf) == cap(t.buf) && t.err == nil {
		fresh := make([]byte, len(t.buf), max(chunkSize, 2*len(t.buf)))
		copy(fresh, t.buf)
		t.buf = fresh
	}
	for empty := 0; t.err == nil; empty++ {
		n, err := t.r.Read(t.buf[len(t.buf):cap(t.buf)])
		t.buf = t.buf[:len(t.buf)+n]
		t.err = err
		if n > 0 {
			return true
		}
		if empty == 100 {
			t.err = io.ErrNoProgress
		}
	}
	return false
}

// rest reads what is in memory, and then what r has more.
func (t *text) rest() io.Reader {
	if t.err != nil {
		return io.MultiReader(bytes.NewReader(t.buf), failed{t.err})
	}
	return io.MultiReader(bytes.NewReader(t.buf), t.r)
}

// failed is a reader that has come to its end.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// take moves on by n bytes and returns them, the space around them left off.
func (t *text) take(n int) []byte {
	data := t.buf[:n:n]
	t.pass(n)
	return trimSpace(data)
}

// pass moves on by n bytes.
func (t *text) pass(n int) {
	t.at.Line += int64(bytes.Count(t.buf[:n], []byte{'\n'}))
	t.passOnLine(n)
}

// passOnLine moves on by n bytes whose line ends are counted.
func (t *text) passOnLine(n int) {
	t.at.Offset += int64(n)
	t.buf = t.buf[n:]
}

// passSpace moves on to what is no white space; false where nothing is left.
func (t *text) passSpace() bool {
	for {
		n := 0
		for n < len(t.buf) && isSpace(t.buf[n]) {
			if t.buf[n] == '\n' {
				t.at.Line++
			}
			n++
		}
		t.passOnLine(n)
		if len(t.buf) > 0 {
			return true
		}
		if !t.more() {
			return false
		}
	}
}

// isSpace knows JSON's white space.
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func trimSpace(data []byte) []byte {
	for len(data) > 0 && isSpace(data[0]) {
		data = data[1:]
	}
	for len(data) > 0 && isSpace(data[len(data)-1]) {
		data = data[:len(data)-1]
	}
	return data
}

// lineReader reads a text up to the end of its line, and the line end with it.
type lineReader struct {
	text *text
	err  error
}

func (l *lineReader) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	if len(l.text.buf) == 0 && !l.text.more() {
		l.err = l.text.err
		return 0, l.err
	}
	n := copy(p, l.text.buf)
	if i := bytes.IndexByte(p[:n], '\n'); i >= 0 {
		n = i
		l.err = errLineEnd
		l.text.pass(n + 1)
		return n, l.err
	}
	l.text.pass(n)
	return n, nil
}
