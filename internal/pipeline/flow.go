package pipeline

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/sink"
)

// Source delivers entries in order; io.EOF ends them.
type Source interface {
	Next(context.Context) (ingest.Entry, error)
}

// A batch ends at so many entries or bytes, whichever comes first. Batches are cut by the input alone, so that the
// output does not hang on how fast anything was.
const (
	batchEntries = 512
	batchBytes   = 1 << 20
)

// So much of the log after a batch is observed before the batch is evaluated, whichever comes first: when a request is
// rebuilt, what was logged shortly after it is known.
const (
	aheadEntries = 512
	aheadBytes   = 8 << 20
)

// flow leads entries through decoding (in parallel), observing (in the order of the log, somewhat ahead) and
// evaluation (in parallel) to the records (in the order of the log). What one batch came to is counted and handed over
// while the next is observed and evaluated. A few batches are under way at a time, which bounds the memory.
type flow struct {
	cfg      ReplayConfig
	source   Source
	replayer *replay.Replayer
	decide   func(*replay.Request) (engine.Decision, error)
	// mayMatch says whether policies have rules for a resource: for other requests no records are made. Nil makes them.
	mayMatch func(resource schema.GroupVersionResource, subResource string, view replay.View) bool
	// result belongs to handOver while the flow runs.
	result *Result
	// look is called with each batch once enough of what follows is observed, in the place of an evaluation; nil is none.
	look func(*batch) error
	// compare is called with each event of the period, once, and what it came to, in the order of the log, before the
	// next batch is evaluated; nil is allowed.
	compare func(*replay.Decoded, []*sink.Record)
	// whole: all events are wanted, also those that are no more than counted.
	whole bool
	// store stores what the events come to; nil is allowed.
	store *storing
	seen  *seen
}

type batch struct {
	entries []ingest.Entry
	// first is the ordinal of the first entry, from 1; end that of the last.
	first, end int64
	// size is how many bytes the entries have.
	size   int
	events []*replay.Decoded
	skips  []ingest.Skip
	// keys has the key of each event.
	keys []seenKey
	// eventOf and skipOf have the ordinal of the entry of each.
	eventOf, skipOf []int64
	// told are the events of which no more is needed than their outline.
	told    []told
	decoded chan struct{}
}

func (f *flow) workers() int {
	if f.cfg.Workers > 0 {
		return f.cfg.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// run leads all entries through. Where it ends early, the error is that of the stage furthest on: what came before is
// handed over.
func (f *flow) run(ctx context.Context) error {
	f.seen = newSeen()
	ctx, cancel := context.WithCancel(ctx)
	batches, done := make(chan *batch, f.workers()-1), make(chan *evaluated, 1)
	var readErr, err, handErr error
	var stages sync.WaitGroup
	stages.Go(func() {
		defer close(batches)
		readErr = f.read(ctx, batches)
	})
	stages.Go(func() {
		defer close(done)
		err = f.sequence(ctx, batches, done)
	})
	for e := range done {
		if handErr == nil {
			handErr = f.handOver(ctx, e)
		}
		if handErr != nil {
			cancel()
		}
	}
	cancel() // Nobody wants what is still being read.
	stages.Wait()
	switch {
	case handErr != nil:
		return handErr
	case err != nil:
		return err
	}
	return readErr
}

// read cuts the input into batches and has each decoded while the next is being read.
func (f *flow) read(ctx context.Context, batches chan<- *batch) error {
	for ordinal := int64(0); ; {
		b := &batch{first: ordinal + 1, decoded: make(chan struct{})}
		err := f.fill(ctx, b)
		ordinal += int64(len(b.entries))
		b.end = ordinal
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(b.entries) > 0 {
			go f.decode(b)
			select {
			case batches <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err != nil {
			return nil
		}
	}
}

func (f *flow) fill(ctx context.Context, b *batch) error {
	b.entries = make([]ingest.Entry, 0, batchEntries)
	for len(b.entries) < batchEntries && b.size < batchBytes {
		entry, err := f.source.Next(ctx)
		if err != nil {
			return err
		}
		b.size += len(entry.Data)
		b.entries = append(b.entries, entry)
	}
	return nil
}

// decode decodes a batch. Several batches are decoded at a time.
func (f *flow) decode(b *batch) {
	defer close(b.decoded)
	outlines := newOutlines(len(b.entries))
	for i, entry := range b.entries {
		ordinal := b.first + int64(i)
		var events []*ingest.Event
		var skips []ingest.Skip
		if f.whole {
			events, skips = ingest.Decode(entry)
		} else {
			events, skips = outlines.decode(entry, ordinal)
		}
		for _, skip := range skips {
			b.skips, b.skipOf = append(b.skips, skip), append(b.skipOf, ordinal)
		}
		for _, ev := range events {
			b.add(f.light(ev), ordinal)
		}
	}
	b.entries, b.told = nil, outlines.told
}

func (b *batch) add(d *replay.Decoded, ordinal int64) {
	b.events, b.keys, b.eventOf = append(b.events, d), append(b.keys, keyOf(d)), append(b.eventOf, ordinal)
}

// light decodes an event, but not the bodies of one of which they may not be needed.
func (f *flow) light(ev *ingest.Event) *replay.Decoded {
	if f.mayMatch == nil {
		return replay.Decode(ev)
	}
	return f.replayer.DecodeLight(ev)
}

// sequence observes each batch, and evaluates it once enough of what follows is observed.
func (f *flow) sequence(ctx context.Context, batches <-chan *batch, done chan<- *evaluated) error {
	var observed []*batch
	for b := range batches {
		<-b.decoded
		f.observe(b)
		observed = append(observed, b)
		for enoughAhead(observed[1:]) {
			if err := f.evaluate(ctx, observed[0], done); err != nil {
				return err
			}
			observed[0] = nil // It takes much memory.
			observed = observed[1:]
		}
	}
	for _, b := range observed {
		if err := f.evaluate(ctx, b, done); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// enoughAhead says whether batches are enough to be known of what follows another.
func enoughAhead(batches []*batch) bool {
	entries, size := int64(0), 0
	for _, b := range batches {
		entries += b.end - b.first + 1
		size += b.size
	}
	return entries >= aheadEntries || size >= aheadBytes
}

func (f *flow) observe(b *batch) {
	for i, d := range b.events {
		if !remembered(d) || !f.seen.add(b.keys[i], d.Event.StageTimestamp, seenAt{end: ingest.Mark{Offset: b.eventOf[i]}}) {
			f.replayer.Observe(d)
		}
	}
}
