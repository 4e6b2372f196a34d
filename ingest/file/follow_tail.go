package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vapshadow/vapshadow/ingest"
)

var (
	// errReplaced says that a file holds another content than before: it was truncated and written anew.
	errReplaced = errors.New("the file holds another content")
	// errShrunk says that a file was cut behind its beginning.
	errShrunk = errors.New("the file is shorter than it was")
)

// tail reads the lines of one content, as far as it goes, again and again. It holds the file open, so a rename or a
// deletion takes nothing away.
type tail struct {
	*content
	file *os.File
	max  int // the longest line, in bytes

	// off is behind the last line that was taken; data are the bytes from there on, as far as they are read. Of a line
	// beyond max they are passed over.
	off    int64
	data   []byte
	passed int64
	// scanned bytes of data are known to hold no line end.
	scanned int

	// stream is what a compressed file comes out of, nil before it is begun; streamErr is why it ended.
	stream    io.Reader
	in        *input
	streamErr error
}

// openTail opens a content behind an offset. It returns errMoved if the name leads to another content by now.
func openTail(c *content, off int64, max int) (*tail, error) {
	now, file, err := readContent(c.path)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(now.info, c.info) || !bytes.HasPrefix(now.head, c.head) {
		_ = file.Close()
		return nil, errMoved
	}
	return &tail{content: now, file: file, max: max, off: off}, nil
}

func (t *tail) close() {
	if t.in != nil {
		t.in.close()
	}
	_ = t.file.Close()
}

// readTo is the offset up to which the content is read.
func (t *tail) readTo() int64 { return t.off + t.passed + int64(len(t.data)) }

// read reads up to limit bytes more, and tells how many there were.
func (t *tail) read(limit int) (int, error) {
	if t.compressed {
		return t.readStream(limit)
	}
	info, err := t.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("reading audit log %s: %w", t.path, err)
	}
	t.info = info
	begin, had := t.readTo(), len(t.data)
	want := int(min(info.Size()-begin, int64(limit)))
	if want > 0 {
		fresh := make([]byte, had+want)
		copy(fresh, t.data)
		n, err := t.file.ReadAt(fresh[had:], begin)
		if err != nil && err != io.EOF {
			return 0, fmt.Errorf("reading audit log %s: %w", t.path, err)
		}
		t.data = fresh[:had+n]
	}
	// What was read counts only if the file still holds the same content: it may have been truncated and have grown
	// past this place since.
	if err := t.verify(); err != nil {
		t.data = t.data[:had]
		return 0, err
	}
	if want < 0 {
		return 0, errShrunk
	}
	return len(t.data) - had, nil
}

// verify reads the head again. It may have grown.
func (t *tail) verify() error {
	head := make([]byte, headSize)
	n, err := t.file.ReadAt(head, t.headAt)
	if err != nil && err != io.EOF {
		return fmt.Errorf("reading audit log %s: %w", t.path, err)
	}
	if !bytes.HasPrefix(head[:n], t.head) {
		return errReplaced
	}
	if n > len(t.head) {
		t.head = head[:n]
	}
	return nil
}

// readStream reads a compressed file, once from its beginning to its end.
func (t *tail) readStream(limit int) (int, error) {
	if t.stream == nil {
		t.in = sectionInput(t.file, t.path, math.MaxInt64)
		t.stream = t.in.decompressed()
		if _, err := io.CopyN(io.Discard, t.stream, t.readTo()); err != nil {
			t.streamErr = io.ErrUnexpectedEOF // shorter than the file that it was made from, or damaged
			if err != io.EOF {
				t.streamErr = err
			}
		}
	}
	fresh := append(make([]byte, 0, len(t.data)+limit), t.data...)
	n := 0
	for t.streamErr == nil && n < limit {
		var m int
		m, t.streamErr = t.stream.Read(fresh[len(t.data)+n : cap(fresh)])
		n += m
	}
	t.data = fresh[:len(t.data)+n]
	if t.in.err != nil && t.in.err != io.EOF {
		return 0, t.in.err
	}
	return n, nil
}

// next takes the next whole line that was read: its entry and the offset behind it. Empty lines are passed over, and so
// are the zero bytes that a truncated file may begin with.
func (t *tail) next() (e ingest.Entry, end int64, ok bool) {
	for {
		if t.passed == 0 {
			t.trimZeros()
		}
		i := bytes.IndexByte(t.data[t.scanned:], '\n')
		if i < 0 {
			t.scanned = len(t.data)
			t.passTooLong()
			return ingest.Entry{}, 0, false
		}
		n := t.scanned + i
		line, long := t.data[:n:n], t.passed+int64(n)
		at := ingest.Position{Source: t.path, Offset: t.off}
		t.off += long + 1
		t.data, t.scanned, t.passed = t.data[n+1:], 0, 0
		if long > int64(t.max) {
			return ingest.Entry{At: at, Skip: t.tooLong(at, long)}, t.off, true
		}
		if line = bytes.Trim(line, " \r\t\x00"); len(line) > 0 {
			return ingest.Entry{Data: line, At: at}, t.off, true
		}
	}
}

func (t *tail) trimZeros() {
	rest := bytes.TrimLeft(t.data, "\x00")
	if n := len(t.data) - len(rest); n > 0 {
		t.off += int64(n)
		t.data = rest
		t.scanned = max(0, t.scanned-n)
	}
}

// passTooLong lets go of a line that is too long already. Its end is still to come.
func (t *tail) passTooLong() {
	if t.passed+int64(len(t.data)) > int64(t.max) {
		t.passed += int64(len(t.data))
		t.data, t.scanned = nil, 0
	}
}

func (t *tail) tooLong(at ingest.Position, n int64) *ingest.Skip {
	return &ingest.Skip{
		Reason: ingest.TooLarge,
		At:     at,
		Detail: fmt.Sprintf("longer than %d bytes: %d bytes passed over", t.max, n),
	}
}

// rest takes what no line end follows, once the content is known to have ended.
func (t *tail) rest() (e ingest.Entry, end int64, ok bool) {
	t.trimZeros()
	at := ingest.Position{Source: t.path, Offset: t.off}
	line, long := bytes.Trim(t.data, " \r\t\x00"), t.passed+int64(len(t.data))
	t.off = t.readTo()
	t.data, t.passed, t.scanned = nil, 0, 0
	switch {
	case long > int64(t.max):
		return ingest.Entry{At: at, Skip: t.tooLong(at, long)}, t.off, true
	case len(line) == 0:
		return ingest.Entry{}, 0, false
	case isWhole(line):
		return ingest.Entry{Data: line, At: at}, t.off, true
	}
	skip := &ingest.Skip{Reason: ingest.CutLine, At: at, Detail: "the file ends inside a line"}
	return ingest.Entry{At: at, Skip: skip}, t.off, true
}

// isWhole tells JSON that is complete, whatever else may be wrong with it.
func isWhole(line []byte) bool {
	return jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// damage is why a compressed content could not be read to its end; nil where it could.
func (t *tail) damage() error {
	if t.streamErr == io.EOF {
		return nil
	}
	return t.streamErr
}

// remaining is how many bytes there are behind the last line that was taken; -1 where it is not known.
func (t *tail) remaining() int64 {
	if t.compressed {
		return -1
	}
	return max(0, t.size()-t.off)
}

// holdsLine tells whether a whole line is read and not taken yet.
func (t *tail) holdsLine() bool { return bytes.IndexByte(t.data[t.scanned:], '\n') >= 0 }
