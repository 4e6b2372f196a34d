package ingest

import (
	"cmp"
	"context"
)

// Partition names one ordered stream of a source: a partition of a topic, a file that is followed, a webhook.
type Partition struct {
	// Source is the name of the source, as configured.
	Source string
	// Name tells the partitions of a source apart: "audit/3" for partition 3 of the topic audit, a file's path.
	Name string
}

func (p Partition) String() string { return p.Source + ":" + p.Name }

// Mark is a place in a partition: what follows it is not read yet. The zero Mark is the beginning. Marks of one
// partition are in order.
type Mark struct {
	// Generation goes up when a file is replaced by another of the same name; 0 for a topic.
	Generation int64
	// Offset is the offset of the next message, or that of the next byte in the decompressed file.
	Offset int64
	// Detail tells the source what it needs to find the place again: the identity of a file. It says nothing of order.
	Detail string
}

// Compare orders the marks of one partition.
func (m Mark) Compare(o Mark) int {
	return cmp.Or(cmp.Compare(m.Generation, o.Generation), cmp.Compare(m.Offset, o.Offset))
}

// Chunk is a run of entries of one partition, in their order.
type Chunk struct {
	Entries []Entry
	// Ends has the Mark behind each entry.
	Ends []Mark
	// Cluster names the cluster that the entries are of; empty where the configuration of the source says it.
	Cluster string
	// CaughtUp: when the chunk was read, the partition held nothing behind it. Such a chunk may have no entries.
	CaughtUp bool
	// Behind is how much the partition still holds after the chunk: messages, or bytes; -1 where it is not known.
	Behind int64
	// Delivery, where it is not empty, stands for the chunk as a whole in a source that cannot be read again: a chunk
	// with a Delivery that is stored already is a repetition. Ends are not looked at then.
	Delivery string
	// Done is called once: with nil when what came of the chunk is stored, else with why it is not. Nil is allowed.
	Done func(error)
}

// Stream reads one partition. It belongs to one goroutine.
type Stream interface {
	// Next waits for the next chunk. Where nothing comes for a while (about a second at most) it returns a chunk
	// without entries, with CaughtUp set if the partition is known to hold no more. An error is final for this Stream:
	// the partition has to be opened again.
	Next(context.Context) (Chunk, error)
	Close() error
}

// Source has partitions, which come and go.
type Source interface {
	// Watch tells of the partitions until the context ends: once at the beginning, then at each change. The listener
	// returns before the next change is told.
	Watch(ctx context.Context, changed func(Assignment)) error
	// Open opens a partition for reading behind a mark.
	Open(ctx context.Context, name string, from Mark) (Stream, error)
}

// Assignment is the state of a source's partitions.
type Assignment struct {
	// All are the names of the partitions that there are.
	All []string
	// Own are those that this process is to evaluate: the others are read only for what they tell of the cluster.
	Own []string
}
