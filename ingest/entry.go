package ingest

import "fmt"

// Entry is one piece of input that holds events: a line of a log, one element of a JSON array, a message's value.
type Entry struct {
	// Data is the entry's own: no source writes over it.
	Data []byte
	At   Position
	// Skip is set, and Data empty, where the source itself could not read on: a gzip stream that ends early, a line
	// past the size limit.
	Skip *Skip
}

// Position says where in the input something stands.
type Position struct {
	// Source is the file's name, "-" for standard input, or topic/partition.
	Source string
	// Line counts from 1; 0 where the source has no lines.
	Line int64
	// Offset is the byte offset in the decompressed source, or the message's offset.
	Offset int64
}

func (p Position) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", p.Source, p.Line)
	}
	return fmt.Sprintf("%s@%d", p.Source, p.Offset)
}

// SkipReason is a stable code for why input was left out. The codes are part of every output: additions only.
type SkipReason string

// Skip is a piece of input that was left out, counted and reported.
type Skip struct {
	Reason SkipReason
	At     Position
	// Detail is for people. It never holds object content.
	Detail string
}
