package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
)

const (
	// chunkEntries and chunkBytes end a chunk.
	chunkEntries = 512
	chunkBytes   = 4 << 20
	// idle is how long Next waits for messages.
	idle = time.Second
)

// stream hands out what its fetcher brings.
type stream struct {
	source *Source
	name   string
	topic  string
	cancel context.CancelFunc
	done   sync.WaitGroup

	portions chan portion
	// now is the portion that is being handed out, open the batch of it.
	now  portion
	open *records
	// next is the offset that is handed out next.
	next int64
	// held is a message of the next chunk, as its cluster is another.
	held *held
	err  error
}

// held is an entry on its way: end is the offset behind it.
type held struct {
	entry   ingest.Entry
	end     int64
	cluster string
}

func newStream(ctx context.Context, s *Source, topic string, partition int32, from int64) *stream {
	ctx, cancel := context.WithCancel(ctx)
	name := partitionName(topic, partition)
	st := &stream{source: s, name: name, topic: topic, cancel: cancel, portions: make(chan portion), next: from}
	f := &fetcher{source: s, topic: topic, partition: partition, name: name, portions: st.portions, next: from, fresh: true}
	st.done.Go(func() { f.run(ctx) })
	return st
}

// Close ends the fetching. It waits for it.
func (s *stream) Close() error {
	s.cancel()
	s.done.Wait()
	s.closeBatch()
	s.source.forget(s.name)
	return nil
}

// Next returns what was fetched; see ingest.Stream.
func (s *stream) Next(ctx context.Context) (ingest.Chunk, error) {
	if s.err != nil {
		return ingest.Chunk{}, s.err
	}
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		chunk, err := s.fill()
		if err != nil {
			s.err = err
		}
		if len(chunk.Entries) > 0 {
			return chunk, nil // the error comes next time
		}
		if err != nil {
			return ingest.Chunk{}, err
		}
		select {
		case <-ctx.Done():
			return ingest.Chunk{}, ctx.Err()
		case <-timer.C:
			return ingest.Chunk{Behind: -1}, nil
		case p := <-s.portions:
			if p.err != nil {
				s.err = p.err
				return ingest.Chunk{}, p.err
			}
			s.now = p
			if len(p.batches) == 0 && p.expired == nil {
				s.next = max(s.next, p.next)
				return s.finish(ingest.Chunk{}), nil
			}
		}
	}
}

// fill takes a chunk out of the portion at hand.
func (s *stream) fill() (ingest.Chunk, error) {
	var c ingest.Chunk
	if s.now.expired != nil {
		c.Entries = []ingest.Entry{{At: s.now.expired.At, Skip: s.now.expired}}
		c.Ends = []ingest.Mark{{Offset: s.now.next}}
		s.next, s.now.expired = s.now.next, nil
		return s.finish(c), nil
	}
	for bytes := 0; len(c.Entries) < chunkEntries && bytes < chunkBytes; {
		h, err := s.take()
		if err != nil {
			return s.finish(c), err
		}
		if h == nil {
			break
		}
		if len(c.Entries) > 0 && h.cluster != c.Cluster {
			s.held = h
			break
		}
		c.Cluster = h.cluster
		c.Entries = append(c.Entries, h.entry)
		c.Ends = append(c.Ends, ingest.Mark{Offset: h.end})
		bytes += len(h.entry.Data)
	}
	return s.finish(c), nil
}

// finish says how much the partition holds behind the chunk.
func (s *stream) finish(c ingest.Chunk) ingest.Chunk {
	at := s.next
	switch {
	case s.held != nil:
		at = s.held.entry.At.Offset
	case s.open == nil && len(s.now.batches) == 0:
		at = max(at, s.now.next) // what follows holds no message: the end of a transaction, or what compaction left
		s.next = at
	}
	c.Behind = max(s.now.end-at, 0)
	c.CaughtUp = c.Behind == 0
	return c
}

// take returns the next message, or nil where the portion has no more.
func (s *stream) take() (*held, error) {
	if h := s.held; h != nil {
		s.held = nil
		return h, nil
	}
	for {
		if s.open == nil {
			if len(s.now.batches) == 0 {
				return nil, nil
			}
			b := s.now.batches[0]
			s.now.batches = s.now.batches[1:]
			open, err := openRecords(b, s.source.config.MaxBytes)
			if err != nil {
				return s.corrupt(b, err), nil
			}
			s.open = open
		}
		h, err := s.message()
		if h != nil || err != nil {
			return h, err
		}
	}
}

// message returns the next message of the open batch; nil behind the last.
func (s *stream) message() (*held, error) {
	b := s.open.batch
	m, err := s.open.next()
	switch tooLarge, isTooLarge := errors.AsType[*TooLargeError](err); {
	case isTooLarge:
		tooLarge.Partition, tooLarge.Offset = s.name, max(s.next, b.first)
		return nil, fmt.Errorf("kafka: reading: %w", tooLarge)
	case errors.Is(err, errNoMore):
		s.closeBatch()
		return nil, nil
	case err != nil:
		s.closeBatch()
		return s.corrupt(b, err), nil
	case m.offset < s.next:
		return nil, nil // a batch is sent whole, also if only its end was asked for
	}
	s.next = m.offset + 1
	at := ingest.Position{Source: s.name, Offset: m.offset}
	return &held{entry: ingest.Entry{Data: m.value, At: at}, end: s.next, cluster: s.clusterOf(m)}, nil
}

// corrupt skips what is left of a batch that cannot be read.
func (s *stream) corrupt(b *batch, why error) *held {
	from := max(s.next, b.first)
	if from > b.last {
		return nil
	}
	at := ingest.Position{Source: s.name, Offset: from}
	skip := &ingest.Skip{Reason: ingest.CorruptStream, At: at,
		Detail: fmt.Sprintf("%d offsets from %d on: %v", b.last-from+1, from, why)}
	s.next = b.last + 1
	return &held{entry: ingest.Entry{At: at, Skip: skip}, end: s.next, cluster: s.source.config.Clusters[s.topic]}
}

func (s *stream) clusterOf(m message) string {
	if name := s.source.config.ClusterHeader; name != "" {
		if cluster, ok := m.header(name); ok {
			return cluster
		}
	}
	return s.source.config.Clusters[s.topic]
}

func (s *stream) closeBatch() {
	if s.open != nil {
		s.open.close()
		s.open = nil
	}
}
