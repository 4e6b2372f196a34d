package ingest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/gzip"
)

// gzipMagic begins a gzip stream: the two bytes that name the format, and the one method that there is.
const gzipMagic = "\x1f\x8b\x08"

func isGzip(data []byte) bool { return bytes.HasPrefix(data, []byte(gzipMagic)) }

// isBase64Of tells whether a value is a string in base64 of what may hold events.
func isBase64Of(v jsontext.Value) bool {
	const enough = 16
	text, _ := unquoted(v)
	begin, err := base64.StdEncoding.DecodeString(string(text[:min(len(text)&^3, enough)]))
	if err != nil || len(begin) == 0 {
		return false
	}
	return isGzip(begin) || startsValue(begin[0])
}

// base64 decodes what services of AWS and Google wrap in base64.
func (d *decoder) base64(v jsontext.Value, depth int) bool {
	text, ok := unquoted(v)
	if !ok {
		d.skip(*skipped(NotAnEvent, d.at, "an envelope of base64 without its data"))
		return true
	}
	data, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		d.skip(*skipped(InvalidEncoding, d.at, "no base64 in the data of an envelope"))
		return true
	}
	d.decode(data, depth+1)
	return true
}

// errNoRoom is that of an entry that decompresses to more than it may.
var errNoRoom = errors.New("too much to decompress")

// decompress decodes what is in a gzip stream.
func (d *decoder) decompress(data []byte, depth int) {
	if err := d.gunzip(bytes.NewReader(data), depth); err != io.EOF {
		d.skip(*d.streamSkip(err))
	}
}

// gunzip returns io.EOF where the stream was read to its end, and otherwise why not.
func (d *decoder) gunzip(r io.Reader, depth int) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("gzip header: %w", noEOF(err))
	}
	b := bufio.NewReader(&roomReader{r: z, room: &d.room})
	if magic, _ := b.Peek(len(gzipMagic)); isGzip(magic) && depth < maxEnvelopes {
		return d.gunzip(b, depth+1)
	}
	lines := newReader(b, d.at.Source, maxDecompressed)
	for !d.full() {
		e, err := lines.Next()
		switch {
		case err != nil:
			return err
		case e.Skip != nil:
			e.Skip.At = d.at
			d.skip(*e.Skip)
		default:
			d.decode(e.Data, depth+1)
		}
	}
	return io.EOF
}

// gunzipReader reads a gzip stream. Its errors come with the first read.
type gunzipReader struct {
	compressed io.Reader
	z          *gzip.Reader
	err        error
}

func (g *gunzipReader) Read(p []byte) (int, error) {
	if g.z == nil && g.err == nil {
		g.z, g.err = gzip.NewReader(g.compressed)
		g.err = noEOF(g.err)
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.z.Read(p)
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (d *decoder) streamSkip(err error) *Skip {
	switch {
	case errors.Is(err, errNoRoom):
		return skipped(TooLarge, d.at, "decompresses to more than %d bytes: the rest is passed over", maxDecompressed)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return skipped(CutStream, d.at, "the compressed stream ends early")
	default:
		return skipped(CorruptStream, d.at, "cannot be decompressed any further: %v", err)
	}
}

// roomReader reads no more than there is room for.
type roomReader struct {
	r    io.Reader
	room *int64
}

func (l *roomReader) Read(p []byte) (int, error) {
	if *l.room <= 0 {
		return 0, errNoRoom
	}
	n, err := l.r.Read(p[:min(int64(len(p)), *l.room)])
	*l.room -= int64(n)
	return n, err
}
