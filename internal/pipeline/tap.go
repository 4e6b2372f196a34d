package pipeline

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// part is a partition that a session reads. Its fields belong to the session's goroutine but for those of the tap.
type part struct {
	id      ingest.Partition
	source  ServedSource
	own     bool
	started ingest.Mark // where reading begins
	// stored is where the store had the partition when the session began: what is before it counts already.
	stored ingest.Mark
	// observed is how far the clusters' state goes.
	observed ingest.Mark
	// frontier is the latest stageTimestamp that was observed.
	frontier time.Time
	// idle is since when the partition is known to hold no more; zero while it does.
	idle time.Time
	// ended: the source has said that nothing will ever follow.
	ended bool
	// behind is what the partition holds behind what was read, as the source says.
	behind int64

	mu      sync.Mutex
	waiting []*portion // read, and not yet observed
	room    chan struct{}
}

// portion is a chunk with its entries decoded.
type portion struct {
	part    *part
	chunk   ingest.Chunk
	size    int64
	entries []*entryWork
	decoded chan struct{}
	// left counts the entries that are not yet stored, for Done.
	left  int
	ended bool
}

// entryWork is one entry on its way to the store.
type entryWork struct {
	portion *portion
	end     ingest.Mark
	cluster string
	size    int64
	events  []*replay.Decoded
	keys    []seenKey // of the events
	told    []told
	skips   []ingest.Skip
	// latest is the latest stageTimestamp of its events; zero where it holds none.
	latest time.Time
	// last: it is the last of its chunk.
	last bool
}

// aheadPortions is how many chunks of a partition are read and decoded before their turn.
const aheadPortions = 2

// tap reads a partition until the context ends, and begins again where the source fails.
func (n *session) tap(ctx context.Context, p *part) {
	from, wait := p.started, time.Duration(0)
	for ctx.Err() == nil {
		read, err := n.drink(ctx, p, &from)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case read:
			wait = 0
		}
		wait = min(max(2*wait, 100*time.Millisecond), 10*time.Second)
		n.cfg.Metrics.SourceError(p.id.Source)
		n.cfg.Log.Warn("reading failed, and is tried again", "partition", p.id.String(), "in", wait, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// drink reads a partition until it fails or ends. read says whether anything came.
func (n *session) drink(ctx context.Context, p *part, from *ingest.Mark) (read bool, err error) {
	stream, err := p.source.Source.Open(ctx, p.id.Name, *from)
	if err != nil {
		return false, err
	}
	defer func() { _ = stream.Close() }() // It was only read.
	for {
		chunk, err := stream.Next(ctx)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return read, err
		}
		read = true
		if k := len(chunk.Ends); k > 0 {
			*from = chunk.Ends[k-1]
		}
		q := &portion{part: p, chunk: chunk, decoded: make(chan struct{}), left: len(chunk.Entries), ended: ended}
		for _, e := range chunk.Entries {
			q.size += entrySize(e)
		}
		if err := n.budget.take(ctx, p, q.size); err != nil {
			q.refuse(err)
			return read, err
		}
		go n.decode(q)
		if err := n.push(ctx, p, q); err != nil {
			return read, err
		}
		if ended {
			return read, nil
		}
	}
}

// push hands a portion to the session once there is room for it.
func (n *session) push(ctx context.Context, p *part, q *portion) error {
	for {
		p.mu.Lock()
		if len(p.waiting) < aheadPortions {
			p.waiting = append(p.waiting, q)
			p.mu.Unlock()
			n.wake()
			return nil
		}
		p.mu.Unlock()
		select {
		case <-p.room:
		case <-ctx.Done():
			q.refuse(ctx.Err())
			return ctx.Err()
		}
	}
}

// decode decodes a portion. Several are decoded at a time.
func (n *session) decode(q *portion) {
	n.decoding <- struct{}{}
	defer func() {
		<-n.decoding
		close(q.decoded)
		n.wake()
	}()
	q.entries = make([]*entryWork, len(q.chunk.Entries))
	outlines := newOutlines(len(q.chunk.Entries))
	for i, entry := range q.chunk.Entries {
		w := &entryWork{portion: q, size: entrySize(entry), cluster: q.cluster(), last: i == len(q.chunk.Entries)-1}
		if i < len(q.chunk.Ends) {
			w.end = q.chunk.Ends[i]
		}
		if q.chunk.Delivery != "" {
			w.end = ingest.Mark{Detail: q.chunk.Delivery}
		}
		before := len(outlines.told)
		events, skips := outlines.decode(entry, 0)
		w.skips, w.told = skips, outlines.told[before:]
		for _, t := range w.told {
			if t.at.After(w.latest) {
				w.latest = t.at
			}
		}
		for _, ev := range events {
			d := replay.Decode(ev)
			w.events, w.keys = append(w.events, d), append(w.keys, keyOf(d))
			if ev.StageTimestamp.After(w.latest) {
				w.latest = ev.StageTimestamp
			}
		}
		q.entries[i] = w
	}
	q.chunk.Entries = nil
}

// entrySize is what an entry weighs in the budget: its bytes, and about what is made of the shortest.
func entrySize(e ingest.Entry) int64 { return int64(len(e.Data)) + 256 }

func (q *portion) cluster() string {
	if q.chunk.Cluster != "" {
		return q.chunk.Cluster
	}
	return q.part.source.Cluster
}

// refuse tells the source that nothing came of a chunk.
func (q *portion) refuse(err error) {
	if q.chunk.Done != nil && q.left >= 0 {
		q.left = -1
		q.chunk.Done(err)
	}
}

// head is the next portion of a partition if it is decoded.
func (p *part) head() *portion {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return nil
	}
	select {
	case <-p.waiting[0].decoded:
		return p.waiting[0]
	default:
		return nil
	}
}

// shift takes the head away.
func (p *part) shift() {
	p.mu.Lock()
	p.waiting = p.waiting[1:]
	p.mu.Unlock()
	select {
	case p.room <- struct{}{}:
	default:
	}
}

// unmerged counts the portions that wait for their turn.
func (p *part) unmerged() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}
