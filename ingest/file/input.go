package file

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// input is an open file, or standard input.
type input struct {
	name string
	r    io.Reader
	file *os.File    // nil for standard input
	info fs.FileInfo // as of opening; nil for standard input
	// interrupt is set where a read can wait for ever, so that the context has to end it.
	interrupt bool

	ctx     context.Context // of the reading in progress
	buf     []byte          // of the reads that can be interrupted
	read    *atomic.Int64
	err     error  // of r, which is not of what decompresses it
	release func() // of what decompresses it
}

func openInput(name string) (*input, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &input{name: name, r: f, file: f, info: info, interrupt: !info.Mode().IsRegular()}, nil
}

func (in *input) isRegular() bool { return in.info != nil && in.info.Mode().IsRegular() }

// among tells whether one of the others is the same file.
func (in *input) among(others []*input) bool {
	for _, o := range others {
		if in.info == nil && o.info == nil || in.info != nil && o.info != nil && os.SameFile(in.info, o.info) {
			return true
		}
	}
	return false
}

// Read reads the stored bytes and counts them.
func (in *input) Read(p []byte) (n int, err error) {
	if in.interrupt {
		n, err = in.readInterruptibly(p)
	} else {
		n, err = in.r.Read(p)
	}
	in.read.Add(int64(n))
	if err != nil && err != io.EOF {
		err = fmt.Errorf("reading audit log %s: %w", in.name, err)
	}
	in.err = err
	return n, err
}

func (in *input) close() {
	if in.release != nil {
		in.release()
	}
	if in.file != nil {
		_ = in.file.Close()
	}
}

// readInterruptibly reads in a goroutine of its own, into memory of its own: a read of a terminal or a pipe cannot be
// called back. Once the context has ended, the input is lost to reading; the goroutine ends with its read.
func (in *input) readInterruptibly(p []byte) (int, error) {
	type result struct {
		data []byte
		err  error
	}
	if len(in.buf) < len(p) {
		in.buf = make([]byte, len(p))
	}
	buf, done := in.buf[:len(p)], make(chan result, 1)
	go func() {
		n, err := in.r.Read(buf)
		done <- result{buf[:n], err}
	}()
	select {
	case got := <-done:
		return copy(p, got.data), got.err
	case <-in.ctx.Done():
		return 0, in.ctx.Err()
	}
}
