package pipeline

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// writeFrames writes what a function writes so that its end can be found again: in pieces, each with its length before
// it, and a length of 0 behind the last.
func writeFrames(w *bufio.Writer, content func(io.Writer) error) error {
	buffered := bufio.NewWriterSize(frameWriter{w}, 1<<15)
	if err := content(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	_, err := w.Write(binary.AppendUvarint(nil, 0))
	return err
}

type frameWriter struct{ w *bufio.Writer }

func (f frameWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if _, err := f.w.Write(binary.AppendUvarint(nil, uint64(len(p)))); err != nil {
		return 0, err
	}
	return f.w.Write(p)
}

// frames reads what writeFrames wrote, up to its end.
type frames struct {
	r    *bufio.Reader
	left uint64
	done bool
}

func (f *frames) Read(p []byte) (int, error) {
	for f.left == 0 {
		if f.done {
			return 0, io.EOF
		}
		n, err := binary.ReadUvarint(f.r)
		if err != nil {
			return 0, fmt.Errorf("it ends early: %w", io.ErrUnexpectedEOF)
		}
		f.left, f.done = n, n == 0
	}
	n, err := f.r.Read(p[:min(uint64(len(p)), f.left)])
	f.left -= uint64(n)
	if err == io.EOF {
		err = fmt.Errorf("it ends early: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}
