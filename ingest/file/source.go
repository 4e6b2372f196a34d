// Package file reads audit logs from files, folders and standard input.
package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/vapshadow/vapshadow/ingest"
)

// DefaultMaxEntryBytes is the longest line or element that is read. An apiserver's requests are limited to 3 MiB, and
// an event holds two bodies and escapes.
const DefaultMaxEntryBytes = 16 << 20

// Stdin is the pattern that means standard input, and the name of it in positions.
const Stdin = "-"

// Options of a Source. The zero value is good.
type Options struct {
	// MaxEntryBytes is the longest line or element that is read, DefaultMaxEntryBytes if 0; longer ones become skips.
	MaxEntryBytes int
	// Stdin is what "-" reads, os.Stdin if nil.
	Stdin io.Reader
}

// Source yields the entries of files, one file after the other. Next and Close belong to one goroutine, Progress to
// any.
type Source struct {
	inputs []*input
	// notes are skips known before anything is read.
	notes  []ingest.Skip
	max    int
	reader *ingest.Reader // of inputs[0]; nil before it is begun
	err    error
	total  int64
	read   atomic.Int64
}

// Progress tells how much of the input is read, in bytes as stored: compressed, where it is.
type Progress struct {
	Read int64
	// Total is what the files held when they were opened; 0 if it is not known, as with standard input. Read ends
	// higher where a file grew meanwhile.
	Total int64
}

// Open opens what the patterns name: files, folders, globs, or "-" for standard input. The patterns are read in their
// order, each file once. A folder stands for the files in it, not for those in folders within it, nor for those whose
// names begin with a dot. The files of a folder or a glob are read in order of time; see rotation.
//
// All files are open from the beginning, so log rotation during the reading takes nothing away.
func Open(patterns []string, opts Options) (*Source, error) {
	s := &Source{max: opts.MaxEntryBytes}
	if s.max <= 0 {
		s.max = DefaultMaxEntryBytes
	}
	if opts.Stdin == nil {
		opts.Stdin = os.Stdin
	}
	for _, pattern := range patterns {
		if err := s.open(pattern, opts.Stdin); err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("opening audit log: %w", err)
		}
	}
	if len(s.inputs) == 0 {
		return nil, errors.New("opening audit log: no file named")
	}
	s.total = totalSize(s.inputs)
	return s, nil
}

func (s *Source) open(pattern string, stdin io.Reader) error {
	var found []*input
	if pattern == Stdin {
		found = []*input{{name: Stdin, interrupt: true, r: stdin}}
	} else {
		files, twins, err := openPattern(pattern)
		if err != nil {
			return err
		}
		found = files
		s.notes = append(s.notes, twins...)
	}
	for _, in := range found {
		if in.among(s.inputs) {
			in.close()
			continue
		}
		in.read = &s.read
		s.inputs = append(s.inputs, in)
	}
	return nil
}

// totalSize is 0 if one size is not known.
func totalSize(inputs []*input) (total int64) {
	for _, in := range inputs {
		if !in.isRegular() {
			return 0
		}
		total += in.info.Size()
	}
	return total
}

// Next returns the next entry, and io.EOF after the last. An entry stays valid. What cannot be decompressed becomes a
// skip, and the next file follows. Any other error of reading ends the source, and so does a context that ends while
// it waits for input.
func (s *Source) Next(ctx context.Context) (ingest.Entry, error) {
	if len(s.notes) > 0 {
		note := s.notes[0]
		s.notes = s.notes[1:]
		return ingest.Entry{At: note.At, Skip: &note}, nil
	}
	for s.err == nil && len(s.inputs) > 0 {
		if err := ctx.Err(); err != nil {
			return ingest.Entry{}, err
		}
		e, err := s.next(ctx)
		if err == nil {
			return e, nil
		}
		if err != io.EOF {
			s.err = err
		}
	}
	if s.err != nil {
		return ingest.Entry{}, s.err
	}
	return ingest.Entry{}, io.EOF
}

// next returns the first input's next entry. It returns io.EOF at its end, where the next input becomes the first.
func (s *Source) next(ctx context.Context) (ingest.Entry, error) {
	in := s.inputs[0]
	in.ctx = ctx
	if s.reader == nil {
		s.reader = ingest.NewReader(in.decompressed(), in.name, s.max)
	}
	e, err := s.reader.Next()
	if err == nil {
		return e, nil
	}
	at := s.reader.At()
	switch {
	case in.err != nil && in.err != io.EOF:
		return ingest.Entry{}, in.err
	case err == io.EOF:
		s.leave()
		return ingest.Entry{}, io.EOF
	default:
		s.leave()
		return ingest.Entry{At: at, Skip: streamSkip(err, at)}, nil
	}
}

func (s *Source) leave() {
	s.inputs[0].close()
	s.inputs = s.inputs[1:]
	s.reader = nil
}

// Progress tells how far the source got.
func (s *Source) Progress() Progress {
	return Progress{Read: s.read.Load(), Total: s.total}
}

// Close closes the files that are still open.
func (s *Source) Close() error {
	for _, in := range s.inputs {
		in.close()
	}
	s.inputs = nil
	return nil
}
