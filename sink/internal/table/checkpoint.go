package table

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// ChunkSize is how many bytes of a checkpoint one row holds.
const ChunkSize = 1 << 20

// mark is a sink.PartitionMark in a checkpoint. Names are bytes: a path need not be UTF-8.
type mark struct {
	Source     []byte    `json:"source"`
	Partition  []byte    `json:"partition"`
	Generation int64     `json:"generation"`
	Offset     int64     `json:"offset"`
	Detail     []byte    `json:"detail"`
	EventTime  time.Time `json:"eventTime,omitzero"`
}

// MarshalMarks writes the marks of a checkpoint.
func MarshalMarks(marks []sink.PartitionMark) ([]byte, error) {
	out := make([]mark, len(marks))
	for i, m := range marks {
		out[i] = mark{[]byte(m.Source), []byte(m.Partition), m.Mark.Generation, m.Mark.Offset, []byte(m.Mark.Detail), m.EventTime}
		if !m.EventTime.IsZero() {
			out[i].EventTime = Time(m.EventTime)
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("writing the marks of a checkpoint: %w", err)
	}
	return text, nil
}

// UnmarshalMarks reads the marks of a checkpoint.
func UnmarshalMarks(text []byte) ([]sink.PartitionMark, error) {
	var in []mark
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("reading the marks of a checkpoint: %w", err)
	}
	var out []sink.PartitionMark
	for _, m := range in {
		out = append(out, sink.PartitionMark{
			Source: string(m.Source), Partition: string(m.Partition), EventTime: m.EventTime,
			Mark: sink.Mark{Generation: m.Generation, Offset: m.Offset, Detail: string(m.Detail)},
		})
	}
	return out, nil
}

// Chunks cuts content into chunks of ChunkSize, the last of which may be shorter. A chunk may be written over after
// each has returned.
func Chunks(content io.Reader, each func(n int32, chunk []byte) error) error {
	chunk := make([]byte, ChunkSize)
	for n := int32(0); ; n++ {
		size, readErr := fill(content, chunk)
		if readErr != nil && readErr != io.EOF {
			return fmt.Errorf("reading what is to be stored: %w", readErr)
		}
		if size > 0 {
			if err := each(n, chunk[:size]); err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return nil
		}
	}
}

// fill is io.ReadFull, but for one thing: only the end of the content is io.EOF, so that a content that was cut
// (io.ErrUnexpectedEOF) does not pass for a whole one.
func fill(content io.Reader, chunk []byte) (size int, err error) {
	for size < len(chunk) && err == nil {
		var n int
		n, err = content.Read(chunk[size:])
		size += n
	}
	return size, err
}

// ChunkReader reads chunks one after the other, until next returns io.EOF.
func ChunkReader(next func(n int32) ([]byte, error), closing func() error) io.ReadCloser {
	return &chunkReader{next: next, closing: closing}
}

type chunkReader struct {
	next    func(n int32) ([]byte, error)
	closing func() error
	n       int32
	rest    []byte
	err     error
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.rest, r.err = r.next(r.n); r.err == nil {
			r.n++
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *chunkReader) Close() error { return r.closing() }
