package ingest

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// openBeyond is the length from which on a line is not one entry, but its elements are. It bounds the memory that
	// one entry's events need.
	openBeyond = 1 << 20
	// lookahead is how long a first line may be to find out what stands on the second.
	lookahead = 4 << 20
	// maxLayers is how often text is decompressed.
	maxLayers = 3
)

var byteOrderMark = []byte("\ufeff")

// Reader reads the entries of one stream of text: JSON lines, or JSON documents that go over many lines.
//
// Which of the two it is shows at the beginning, and again behind each document: a value that is not complete on its
// line, and that the next line continues, is a document. Of documents and of long lines, each element is an entry. Of
// JSON lines, each line is, so a broken line costs no other.
type Reader struct {
	text *text
	max  int
	// inside is what is being taken apart: a document or a long line.
	inside *unwrapper
	// unsure is set where a document may begin.
	unsure  bool
	started bool
	// gunzips is set where the text may be in gzip.
	gunzips bool
}

// NewReader reads r, which source names. A line or element of more than maxEntryBytes becomes a skip. Text in gzip is
// decompressed first, and positions are those in the text.
func NewReader(r io.Reader, source string, maxEntryBytes int) *Reader {
	reader := newReader(r, source, maxEntryBytes)
	reader.gunzips = true
	return reader
}

// newReader reads text as it is.
func newReader(r io.Reader, source string, maxEntryBytes int) *Reader {
	return &Reader{text: newText(r, Position{Source: source, Line: 1}), max: maxEntryBytes, unsure: true}
}

// At is how far the reader got.
func (r *Reader) At() Position { return r.text.at }

// Next returns the next entry, which stays valid. It returns io.EOF at the end, and r's own error where it cannot read
// on: what it holds of a value by then is left out.
func (r *Reader) Next() (Entry, error) {
	r.start()
	for {
		if r.inside != nil {
			e, err := r.inside.next()
			if err != io.EOF {
				return e, err
			}
			r.inside = nil
		}
		if !r.text.passSpace() {
			return Entry{}, r.text.err
		}
		if r.unsure {
			r.unsure = r.documentBegins()
		}
		if r.unsure {
			r.inside = newUnwrapper(r.text, r.max)
			r.inside.one = true
			continue
		}
		if e, ok := r.line(); ok {
			return e, nil
		}
	}
}

func (r *Reader) start() {
	if r.started {
		return
	}
	r.started = true
	for len(r.text.buf) < len(byteOrderMark) && r.text.more() {
	}
	// Firehose compresses what CloudWatch has compressed already.
	for layer := 0; r.gunzips && layer < maxLayers && isGzip(r.text.buf); layer++ {
		r.text = newText(&gunzipReader{compressed: r.text.rest()}, r.text.at)
		for len(r.text.buf) < len(byteOrderMark) && r.text.more() {
		}
	}
	if bytes.HasPrefix(r.text.buf, byteOrderMark) {
		r.text.pass(len(byteOrderMark))
	}
}

// line returns the entry that is on the line; false if the line has to be taken apart.
func (r *Reader) line() (Entry, bool) {
	t := r.text
	for n := 0; ; {
		i := bytes.IndexByte(t.buf[n:], '\n')
		whole := i >= 0
		if whole {
			n += i
		} else {
			n = len(t.buf)
		}
		switch {
		case n > min(openBeyond, r.max) && startsValue(t.buf[0]):
			return r.takeApart()
		case n > r.max:
			return r.passLine(), true
		case whole:
			return r.entry(n), true
		case !t.more():
			return r.lastLine()
		}
	}
}

// entry is what is left of the line, n bytes.
func (r *Reader) entry(n int) Entry {
	e := Entry{Data: trimSpace(r.text.buf[:n:n]), At: r.text.at}
	r.text.passOnLine(n)
	return e
}

func (r *Reader) takeApart() (Entry, bool) {
	line := &text{r: &lineReader{text: r.text}, at: r.text.at}
	r.inside = newUnwrapper(line, r.max)
	return Entry{}, false
}

// lastLine returns what no line end follows. If it is no complete value, it is taken apart, which finds the complete
// elements in it.
func (r *Reader) lastLine() (Entry, bool) {
	t := r.text
	switch {
	case startsValue(t.buf[0]) && !jsontext.Value(t.buf).IsValid(lenient):
		return r.takeApart()
	case t.err == io.EOF || startsValue(t.buf[0]):
		return r.entry(len(t.buf)), true
	default:
		t.pass(len(t.buf)) // part of what the reader's error is about
		return Entry{}, false
	}
}

func (r *Reader) passLine() Entry {
	t := r.text
	at := t.at
	for {
		if i := bytes.IndexByte(t.buf, '\n'); i >= 0 {
			t.pass(i)
			break
		}
		t.pass(len(t.buf))
		if !t.more() {
			break
		}
	}
	return Entry{At: at, Skip: skipped(TooLarge, at, "longer than %d bytes: %d bytes passed over", r.max,
		t.at.Offset-at.Offset)}
}

// startsValue tells whether JSON that can be taken apart begins with c.
func startsValue(c byte) bool { return c == '{' || c == '[' }
