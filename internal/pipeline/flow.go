package pipeline

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"

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
	batchBytes   = 8 << 20
)

// flow leads entries through decoding (in parallel), observing (in the order of the log, one batch ahead) and
// evaluation (in parallel) to the records (in the order of the log). A few batches are under way at a time, which
// bounds the memory.
type flow struct {
	cfg      ReplayConfig
	source   Source
	replayer *replay.Replayer
	decide   func(*replay.Request) (engine.Decision, error)
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
	events     []*replay.Decoded
	skips      []ingest.Skip
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
	for size := 0; len(b.entries) < batchEntries && size < batchBytes; {
		entry, err := f.source.Next(ctx)
		if err != nil {
			return err
		}
		size += len(entry.Data)
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
			b.events, b.eventOf = append(b.events, replay.Decode(ev)), append(b.eventOf, ordinal)
		}
	}
	b.entries, b.told = nil, outlines.told
}

// sequence observes each batch and then evaluates the one before it: when a request is rebuilt, what was logged shortly
// after it is known.
func (f *flow) sequence(ctx context.Context, batches <-chan *batch) error {
	each := f.each
	if each == nil {
		each = f.evaluate
	}
	var before *batch
	for b := range batches {
		<-b.decoded
		f.count(b)
		for i, d := range b.events {
			if !remembered(d) || !f.seen.add(d.Event, seenAt{end: ingest.Mark{Offset: b.eventOf[i]}}) {
				f.replayer.Observe(d)
			}
		}
		if err := each(ctx, before); err != nil {
			return err
		}
		before = b
	}
	return each(ctx, before)
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

// evaluate rebuilds and evaluates the requests of a batch on all workers, and hands the records on in order.
func (f *flow) evaluate(ctx context.Context, b *batch) error {
	if b == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	records, errs := make([][]*sink.Record, len(b.events)), make([]error, len(b.events))
	leftOut, next := make([]string, len(b.events)), make(chan int, len(b.events))
	for i, d := range b.events {
		var admitted bool
		if leftOut[i], admitted = f.admit(d, b.eventOf[i]); admitted {
			next <- i
		}
	}
	close(next)
	var workers sync.WaitGroup
	for range f.workers() {
		workers.Go(func() {
			for i := range next {
				records[i], errs[i] = f.records(b.events[i])
			}
		})
	}
	workers.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, of := range records {
		for _, r := range of {
			f.result.Requests++
			if err := f.cfg.Records(r); err != nil {
				return err
			}
		}
		if f.compare != nil && leftOut[i] == "" {
			f.compare(b.events[i], of)
		}
		if f.store != nil {
			f.store.event(b.events[i], b.eventOf[i], leftOut[i], of)
		}
	}
	for _, t := range b.told {
		f.tell(t)
	}
	f.progress()
	return f.stored(ctx, b)
}

// tell counts an event that is no admission request.
func (f *flow) tell(t told) {
	if f.within(t.at) {
		f.period(t.at)
		f.result.NotAdmission[string(t.because)]++
	} else {
		f.result.OutOfPeriod++
	}
	if f.store != nil {
		f.store.told(t)
	}
}

// stored hands the rest of a batch to the store.
func (f *flow) stored(ctx context.Context, b *batch) error {
	if f.store == nil {
		return nil
	}
	n := int32(0)
	for i, skip := range b.skips {
		if n++; i == 0 || b.skipOf[i] != b.skipOf[i-1] {
			n = 0
		}
		f.store.skip(skip, b.skipOf[i], n)
	}
	return f.store.reach(ctx, b.end)
}

// admit counts an event and says whether it is an admission request within the period; if it is one that is left out,
// why.
func (f *flow) admit(d *replay.Decoded, ordinal int64) (leftOut string, admitted bool) {
	at := d.Event.StageTimestamp
	if !f.within(at) {
		f.result.OutOfPeriod++
		return reasonOutOfPeriod, false
	}
	f.period(at)
	if remembered(d) && f.seen.earlier(d.Event, seenAt{end: ingest.Mark{Offset: ordinal}}) {
		f.result.Skipped[reasonDuplicate]++
		return reasonDuplicate, false
	}
	if d.Operation == "" {
		f.result.NotAdmission[string(d.NotAdmission)]++
		return "", false
	}
	f.result.Admissions++
	return "", true
}

// within says whether a moment is in the period that was asked for.
func (f *flow) within(at time.Time) bool {
	return (f.cfg.Since.IsZero() || !at.Before(f.cfg.Since)) && (f.cfg.Until.IsZero() || at.Before(f.cfg.Until))
}

func (f *flow) period(at time.Time) {
	if f.result.First.IsZero() || at.Before(f.result.First) {
		f.result.First = at
	}
	if at.After(f.result.Last) {
		f.result.Last = at
	}
}

func (f *flow) records(d *replay.Decoded) ([]*sink.Record, error) {
	var out []*sink.Record
	for _, req := range f.replayer.Requests(d) {
		decision, err := f.decide(req)
		if err != nil {
			return nil, err
		}
		out = append(out, record(f.cfg.ClusterName, req, decision))
	}
	return out, nil
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
