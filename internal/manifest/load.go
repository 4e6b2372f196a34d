package manifest

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// load returns the text of a file, decompressed.
func load(file string, stdin io.Reader) ([]byte, error) {
	if file == stdinPattern {
		if stdin == nil {
			return nil, errors.New("there is no standard input here: name a file")
		}
		return decompress(stdin, 0)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, unwrapPath(err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	info, err := f.Stat()
	if err != nil {
		return nil, unwrapPath(err)
	}
	return decompress(f, info.Size())
}

// magics are the first bytes of compressed files.
var magics = []struct {
	name, begins string
	open         func(io.Reader) (io.Reader, error)
}{
	{"gzip", "\x1f\x8b", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"zstd", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}},
	{"bzip2", "BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	{"xz", "\xfd7zXZ\x00", nil},
	{"zip", "PK\x03\x04", nil},
}

// decompress reads all, by the first bytes and not by the name. size is what the file has, in bytes; 0 if not known.
func decompress(r io.Reader, size int64) ([]byte, error) {
	buffered := bufio.NewReader(r)
	begin, err := buffered.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for _, magic := range magics {
		if !bytes.HasPrefix(begin, []byte(magic.begins)) {
			continue
		}
		if magic.open == nil {
			return nil, fmt.Errorf("it is compressed with %s, which is not read here: decompress it first", magic.name)
		}
		plain, err := magic.open(buffered)
		if err != nil {
			return nil, fmt.Errorf("decompressing %s: %w", magic.name, err)
		}
		if closer, ok := plain.(io.ReadCloser); ok {
			defer closer.Close()
		}
		text, err := readAll(plain, 0)
		if err != nil {
			return nil, fmt.Errorf("decompressing %s: %w", magic.name, err)
		}
		return text, nil
	}
	return readAll(buffered, size)
}

// readAll is io.ReadAll with the size known beforehand, which spares half of the memory.
func readAll(r io.Reader, size int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(size, 1<<30)) + bytes.MinRead)
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}
