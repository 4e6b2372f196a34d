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
// evaluation (in parallel) to the records (in the order of the log). A few batches are under way at a time, which
// bounds the memory.
type flow struct {
	cfg      ReplayConfig
	source   Source
	replayer *replay.Replayer
	decide   func(*replay.Request) (engine.Decision, error)
	// mayMatch says whether policies have rules for a resource: for other requests no records are made. Nil makes them.
	mayMatch func(resource schema.GroupVersionResource, subResource string, view replay.View) bool
	result   *Result
	// each is called with each batch once the one after it is observed; nil stands for evaluate.
	each func(context.Context, *batch) error
	// compare is called with each event of the period, once, and what it came to, in the order of the log; nil is allowed.
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

func (f *flow) run(ctx context.Context) error {
	f.seen = newSeen()
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan *batch, f.workers()-1)
	var readErr error
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(batches)
		readErr = f.read(ctx, batches)
	})
	err := f.sequence(ctx, batches)
	cancel()
	reader.Wait()
	if err == nil {
		err = readErr
	}
	return err
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
			b.events, b.eventOf = append(b.events, f.light(ev)), append(b.eventOf, ordinal)
		}
	}
	b.entries, b.told = nil, outlines.told
}

// light decodes an event, but not the bodies of one of which they may not be needed.
func (f *flow) light(ev *ingest.Event) *replay.Decoded {
	if f.mayMatch == nil {
		return replay.Decode(ev)
	}
	return f.replayer.DecodeLight(ev)
}

// sequence observes each batch, and evaluates it once enough of what follows is observed.
func (f *flow) sequence(ctx context.Context, batches <-chan *batch) error {
	each := f.each
	if each == nil {
		each = f.evaluate
	}
	var observed []*batch
	for b := range batches {
		<-b.decoded
		f.observe(b)
		observed = append(observed, b)
		for enoughAhead(observed[1:]) {
			if err := each(ctx, observed[0]); err != nil {
				return err
			}
			observed[0] = nil // It takes much memory.
			observed = observed[1:]
		}
	}
	for _, b := range observed {
		if err := each(ctx, b); err != nil {
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
	f.count(b)
	for i, d := range b.events {
		if !remembered(d) || !f.seen.add(d.Event, seenAt{end: ingest.Mark{Offset: b.eventOf[i]}}) {
			f.replayer.Observe(d)
		}
	}
}

func (f *flow) count(b *batch) {
	for _, s := range b.skips {
		f.result.Skipped[string(s.Reason)]++
		if f.cfg.Skips != nil {
			f.cfg.Skips(s)
		}
	}
	f.result.Events += int64(len(b.events) + len(b.told))
}

func (f *flow) progress() {
	if f.cfg.Progress == nil {
		return
	}
	p := Progress{Events: f.result.Events}
	if s, ok := f.source.(interface{ Read() (read, total int64) }); ok {
		p.BytesRead, p.BytesTotal = s.Read()
	}
	f.cfg.Progress(p)
}
