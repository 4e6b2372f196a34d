package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go/compress"
)

// maxWindow is the most memory that a zstd stream may ask for: what the highest level of compression does.
const maxWindow = 128 << 20

// decompress reads a batch's records. The codecs of kafka-go take the sizes that snappy and zstd claim at their word,
// which a few bytes can make gigabytes: so those two are read here, within bounds.
func decompress(code int16, data []byte, maxBytes int) (io.ReadCloser, error) {
	switch c := compress.Compression(code); c {
	case compress.None:
		return io.NopCloser(bytes.NewReader(data)), nil
	case compress.Snappy:
		return io.NopCloser(newSnappyReader(data, maxBytes)), nil
	case compress.Zstd:
		return newZstdReader(data)
	default:
		if c.Codec() == nil {
			return nil, fmt.Errorf("compression %d is not known", code)
		}
		return c.Codec().NewReader(bytes.NewReader(data)), nil
	}
}

var zstdDecoders sync.Pool

type zstdReader struct{ *zstd.Decoder }

func newZstdReader(data []byte) (io.ReadCloser, error) {
	if d, ok := zstdDecoders.Get().(*zstd.Decoder); ok {
		return zstdReader{d}, d.Reset(bytes.NewReader(data))
	}
	// With one at a time, the decoder starts no goroutines.
	d, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return zstdReader{d}, nil
}

// Close gives the decoder back.
func (r zstdReader) Close() error {
	if err := r.Reset(nil); err != nil {
		return err
	}
	zstdDecoders.Put(r.Decoder)
	return nil
}

// snappyReader reads a block of snappy, or blocks in the frames that Java's library writes.
type snappyReader struct {
	rest   []byte
	framed bool
	max    int
	block  []byte
	buffer []byte
}

// snappyMagic begins what is framed; two versions of four bytes each follow.
var snappyMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

func newSnappyReader(data []byte, maxBytes int) *snappyReader {
	r := &snappyReader{rest: data, max: maxBytes + fetchOverhead}
	if head := len(snappyMagic) + 8; len(data) >= head && bytes.HasPrefix(data, snappyMagic) {
		r.rest, r.framed = data[head:], true
	}
	return r
}

func (r *snappyReader) Read(p []byte) (int, error) {
	for len(r.block) == 0 {
		if len(r.rest) == 0 {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}

func (r *snappyReader) next() (err error) {
	block := r.rest
	if r.framed {
		if len(r.rest) < 4 || uint64(binary.BigEndian.Uint32(r.rest)) > uint64(len(r.rest)-4) {
			return io.ErrUnexpectedEOF
		}
		end := 4 + int(binary.BigEndian.Uint32(r.rest))
		block, r.rest = r.rest[4:end], r.rest[end:]
	} else {
		r.rest = nil
	}
	size, err := s2.DecodedLen(block)
	if err != nil {
		return err
	}
	// A batch without frames is one block, and holds many messages. No compression of snappy is better than 1 to 64.
	if size > max(r.max, 64*len(block)) {
		return errors.New("a snappy block claims more than can be in it")
	}
	r.buffer, err = s2.Decode(r.buffer[:cap(r.buffer)], block)
	r.block = r.buffer
	return err
}
