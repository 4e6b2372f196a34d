package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/vapshadow/vapshadow/ingest"
)

const (
	readSize = 64 << 10
	// maxWindow is the memory that a zstd stream may ask for: what zstd --long uses, and the zstd tool reads unasked.
	maxWindow = 128 << 20
)

// errUnsupported is that of a stream compressed in a way that is known and not read.
var errUnsupported = errors.New("unsupported compression")

// decompressed reads the content of an input, by what it begins with: a rotated log may have any name. Its errors come
// with the first read.
func (in *input) decompressed() io.Reader {
	b := bufio.NewReaderSize(in, readSize)
	return &lazyReader{open: func() (io.Reader, error) { return in.decompress(b) }}
}

func (in *input) decompress(b *bufio.Reader) (io.Reader, error) {
	magic, err := b.Peek(6)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")):
		return gzip.NewReader(b)
	case isZstd(magic):
		d, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		in.release = d.Close
		return d, nil
	}
	for name, prefix := range unsupported {
		if bytes.HasPrefix(magic, []byte(prefix)) {
			return nil, fmt.Errorf("%w %s", errUnsupported, name)
		}
	}
	return b, nil
}

var unsupported = map[string]string{
	"bzip2": "BZh",
	"xz":    "\xfd7zXZ\x00",
	"lz4":   "\x04\x22\x4d\x18",
	"zip":   "PK\x03\x04",
}

// isZstd knows a frame's magic number, and those of the frames that tools like pzstd put before it.
func isZstd(magic []byte) bool {
	if len(magic) < 4 {
		return false
	}
	return bytes.HasPrefix(magic, []byte("\x28\xb5\x2f\xfd")) ||
		magic[0]&0xf0 == 0x50 && bytes.HasPrefix(magic[1:], []byte("\x2a\x4d\x18"))
}

// lazyReader opens what it reads at the first read.
type lazyReader struct {
	open func() (io.Reader, error)
	r    io.Reader
	err  error
}

func (l *lazyReader) Read(p []byte) (int, error) {
	if l.r == nil && l.err == nil {
		l.r, l.err = l.open()
	}
	if l.err != nil {
		return 0, l.err
	}
	return l.r.Read(p)
}

// streamSkip reports a stream that cannot be decompressed from at on.
func streamSkip(err error, at ingest.Position) *ingest.Skip {
	skip := &ingest.Skip{Reason: ingest.CorruptStream, At: at, Detail: "cannot be decompressed any further: " + err.Error()}
	switch {
	case errors.Is(err, errUnsupported):
		skip.Reason = ingest.UnsupportedCompression
		skip.Detail = err.Error() + ": decompress the file first"
	case errors.Is(err, io.ErrUnexpectedEOF):
		skip.Reason = ingest.CutStream
		skip.Detail = "the compressed stream ends early"
	}
	return skip
}
