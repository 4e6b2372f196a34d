package daily

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// failing is a workload that fails: the time of its last failure, in microseconds, and whether any of them is more than a
// repetition.
type failing struct {
	last  int64
	fresh bool
}

// group is a sink.Group, with the workloads where these were asked for, by a digest of their names.
type group struct {
	sink.Group
	workloads map[[16]byte]failing
	// stored are workloads as they were read: entries of entrySize bytes.
	stored []byte
}

// entrySize is the size of a digest, and of a time with a bit for what is more than a repetition.
const entrySize = 16 + 8

// merge adds the workloads of another group.
func (g *group) merge(other *group) {
	if g.workloads == nil && len(other.workloads)+len(other.stored) > 0 {
		g.workloads = make(map[[16]byte]failing, len(other.workloads)+len(other.stored)/entrySize)
	}
	add := func(digest [16]byte, one failing) {
		if known, ok := g.workloads[digest]; ok {
			one = failing{max(one.last, known.last), one.fresh || known.fresh}
		}
		g.workloads[digest] = one
	}
	for digest, one := range other.workloads {
		add(digest, one)
	}
	for entry := range slices.Chunk(other.stored, entrySize) {
		n := int64(binary.LittleEndian.Uint64(entry[16:])) //nolint:gosec // it was written so
		add([16]byte(entry), failing{n >> 1, n&1 == 1})
	}
}

// encode writes groups: numbers as varints, texts behind their length, times in microseconds; compressed.
func encode(groups []*group) ([]byte, error) {
	var buf []byte
	text := func(s string) { buf = append(binary.AppendUvarint(buf, uint64(len(s))), s...) }
	for _, g := range groups {
		for _, v := range g.Values {
			text(v)
		}
		buf = binary.AppendVarint(buf, unix(g.Span))
		buf = binary.AppendVarint(buf, g.Count)
		buf = binary.AppendVarint(buf, g.Requests)
		buf = binary.AppendVarint(buf, g.New)
		text(g.Sample)
		buf = binary.AppendVarint(buf, g.First.UnixMicro())
		buf = binary.AppendVarint(buf, g.Last.UnixMicro())
		buf = binary.AppendUvarint(buf, uint64(len(g.workloads)))
		for digest, one := range g.workloads {
			n := one.last << 1
			if one.fresh {
				n |= 1
			}
			buf = append(buf, digest[:]...)
			buf = binary.LittleEndian.AppendUint64(buf, uint64(n)) //nolint:gosec // it is read back so
		}
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(buf); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// unix is the second of a span; spans of no width are zero.
func unix(span time.Time) int64 {
	if span.IsZero() {
		return 0
	}
	return span.Unix()
}

var errContent = errors.New("the content of a sealed day is damaged")

// decode calls each with the groups of a content, of so many values. The group is good until each returns.
func decode(content []byte, values int, each func(*group)) error {
	buf, err := io.ReadAll(flate.NewReader(bytes.NewReader(content)))
	if err != nil {
		return fmt.Errorf("%w: %w", errContent, err)
	}
	r := reader{buf: buf}
	for len(r.buf) > 0 && !r.bad {
		g := group{Group: sink.Group{Values: make([]string, values)}}
		for i := range g.Values {
			g.Values[i] = r.text()
		}
		g.Span = time.Unix(r.number(), 0).UTC()
		g.Count, g.Requests, g.New, g.Sample = r.number(), r.number(), r.number(), r.text()
		g.First, g.Last = time.UnixMicro(r.number()).UTC(), time.UnixMicro(r.number()).UTC()
		g.stored = r.entries(r.size())
		if !r.bad {
			each(&g)
		}
	}
	if r.bad {
		return errContent
	}
	return nil
}

// reader takes a content apart. What does not add up makes it bad, and all that follows zero.
type reader struct {
	buf []byte
	bad bool
}

func (r *reader) number() int64 {
	n, size := binary.Varint(r.buf)
	r.skip(size)
	return n
}

// size is the length of a text or a list, whose entries have a byte each at least.
func (r *reader) size() int {
	n, size := binary.Uvarint(r.buf)
	r.skip(size)
	if n > uint64(len(r.buf)) {
		r.bad, n = true, 0
	}
	return int(n)
}

// skip goes on behind a number of so many bytes; one that was cut has none, or less.
func (r *reader) skip(size int) {
	if size <= 0 {
		r.bad, size = true, 0
	}
	r.buf = r.buf[size:]
}

func (r *reader) text() string {
	n := r.size()
	s := string(r.buf[:n])
	r.buf = r.buf[n:]
	return s
}

func (r *reader) entries(n int) []byte {
	if n*entrySize > len(r.buf) {
		r.bad, n = true, 0
	}
	out := r.buf[:n*entrySize]
	r.buf = r.buf[n*entrySize:]
	return out
}
