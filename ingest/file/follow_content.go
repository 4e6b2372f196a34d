package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// errMoved says that a name led to another file than a moment before.
var errMoved = errors.New("the file was replaced meanwhile")

// content is a file of a log as it was found.
type content struct {
	path string
	info fs.FileInfo
	// head is the beginning of the content, up to headSize: of what is decompressed, and behind the zero bytes that
	// begin a file which was truncated under a writer that goes on at its old offset. It is empty where nothing else
	// is there yet.
	head   []byte
	headAt int64
	// compressed is set where the file cannot be read at an offset.
	compressed bool
}

func (c *content) size() int64 { return c.info.Size() }

// same tells whether two files hold the same content, or one of them the beginning of the other's.
func (c *content) same(o *content) bool {
	n := min(len(c.head), len(o.head))
	if isPartial(c.head[:n]) {
		return n > 0 && bytes.Equal(c.head, o.head)
	}
	return bytes.Equal(c.head[:n], o.head[:n])
}

// readContent opens a file and reads its head. The file is the caller's to close.
func readContent(path string) (*content, *os.File, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, nil, err
	}
	c, err := contentOf(f, path)
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return c, f, nil
}

// openRegular opens a file that can be followed. It does not wait for the writer of a pipe.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, so it cannot be followed: name a file or a glob", path)
	}
	return os.Open(path)
}

func contentOf(f *os.File, path string) (*content, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	c := &content{path: path, info: info}
	magic := make([]byte, 4)
	n, err := f.ReadAt(magic, 0)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("reading audit log %s: %w", path, err)
	}
	c.compressed = bytes.HasPrefix(magic[:n], []byte("\x1f\x8b")) || isZstd(magic[:n])
	in := sectionInput(f, path, info.Size())
	defer in.close()
	if c.compressed {
		// What is damaged at once is known by its stored bytes.
		if c.head, c.headAt, err = readHead(in.decompressed()); err == nil {
			return c, nil
		}
	}
	c.head, c.headAt, err = readHead(io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		return nil, fmt.Errorf("reading audit log %s: %w", path, err)
	}
	return c, nil
}

// sectionInput reads a file from its beginning, whatever else reads it.
func sectionInput(f *os.File, path string, size int64) *input {
	return &input{name: path, r: io.NewSectionReader(f, 0, size), read: new(atomic.Int64)}
}

// readHead returns the first bytes that are not zero, and how many were.
func readHead(r io.Reader) (head []byte, zeros int64, err error) {
	buf := make([]byte, headSize)
	for len(head) < headSize {
		n, err := r.Read(buf)
		data := buf[:n]
		if len(head) == 0 {
			data = bytes.TrimLeft(data, "\x00")
			zeros += int64(n - len(data))
		}
		if zeros > 0 && len(buf) < readSize {
			buf = make([]byte, readSize) // there may be gigabytes of them
		}
		head = append(head, data[:min(len(data), headSize-len(head))]...)
		if err == io.EOF || err != nil && len(head) > 0 && isDamage(err) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return head, zeros, nil
}

// isDamage tells an error of a stream that cannot be decompressed from one of the disk.
func isDamage(err error) bool {
	var path *fs.PathError
	return !errors.As(err, &path)
}
