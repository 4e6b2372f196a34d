package kafka

import (
	"context"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest"
)

const (
	// holdBack is how long a broker waits for messages before it answers that there are none.
	holdBack = 500 * time.Millisecond

	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 3 * time.Second

	// corruptTries is how often a batch with a wrong checksum is fetched: what the network did to it goes away.
	corruptTries = 3
)

// portion is what one fetch brought.
type portion struct {
	batches []*batch
	// from is where the fetch began, next where the following one does.
	from, next int64
	// end is behind the last message that could be read then.
	end int64
	// expired is set where messages were gone before they were read.
	expired *ingest.Skip
	// err is final.
	err error
}

// fetcher reads a partition ahead of its stream, by one portion.
type fetcher struct {
	source    *Source
	topic     string
	partition int32
	name      string
	portions  chan portion

	conn *connection
	next int64
	// fresh is set until the partition was read once: then it waits for nothing, and a beginning that is gone was
	// promised to nobody.
	fresh   bool
	corrupt int
}

// run fetches until the context ends or an error is final.
func (f *fetcher) run(ctx context.Context) {
	defer f.disconnect()
	wait := firstBackoff
	for ctx.Err() == nil {
		p, err := f.fetch(ctx)
		if err == nil {
			wait = firstBackoff
			f.hand(ctx, p)
			continue
		}
		f.disconnect()
		if ctx.Err() != nil {
			return
		}
		if f.isFinal(err) {
			f.hand(ctx, portion{err: fmt.Errorf("kafka: reading %s at offset %d: %w", f.name, f.next, err)})
			return
		}
		pause(ctx, wait)
		wait = min(2*wait, maxBackoff)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// hand gives a portion to the stream. One that only says that there is nothing is not kept for later, when it may not be
// true any more.
func (f *fetcher) hand(ctx context.Context, p portion) {
	if len(p.batches) == 0 && p.expired == nil && p.err == nil {
		select {
		case f.portions <- p:
		default:
		}
		return
	}
	select {
	case f.portions <- p:
	case <-ctx.Done():
	}
}

// isFinal tells whether an error is one that trying again does not mend.
func (f *fetcher) isFinal(err error) bool {
	lasted := f.source.failing(f.name, err)
	switch natureOf(err) {
	case forGood:
		return true
	case login:
		return f.fresh || lasted >= f.source.config.Patience
	case mayPass:
		return lasted >= f.source.config.Patience
	default:
		return false
	}
}

func (f *fetcher) connect(ctx context.Context) error {
	if f.conn != nil {
		return nil
	}
	addr, err := f.source.layout.leader(ctx, f.topic, f.partition)
	if err != nil {
		return err
	}
	f.conn, err = f.source.layout.connect(ctx, addr)
	return err
}

func (f *fetcher) disconnect() {
	if f.conn != nil {
		_ = f.conn.Close()
		f.conn = nil
	}
}

// fetch returns the next portion.
func (f *fetcher) fetch(ctx context.Context) (portion, error) {
	if err := f.connect(ctx); err != nil {
		return portion{}, err
	}
	request := fetchRequest{topic: f.topic, partition: f.partition, offset: f.next, wait: holdBack, maxBytes: f.source.config.MaxBytes}
	if f.fresh {
		request.wait = 0
	}
	answer, err := f.conn.fetch(ctx, request)
	if err != nil {
		return portion{}, err
	}
	switch code := kafkago.Error(answer.code); {
	case code == kafkago.OffsetOutOfRange:
		return f.outOfRange(ctx)
	case code != 0:
		return portion{}, code
	}
	p, err := f.portion(answer)
	if err != nil {
		return portion{}, err
	}
	f.next, f.fresh = p.next, false
	f.source.well(f.name, func(h *Health) {
		h.Fetched, h.End, h.HighWatermark = p.next, p.end, answer.highWatermark
	})
	return p, nil
}

func (f *fetcher) portion(answer fetched) (portion, error) {
	batches, err := parseBatches(answer.records)
	if err != nil {
		return portion{}, err
	}
	p := portion{from: f.next, next: f.next, end: answer.lastStable}
	if len(batches) == 0 {
		if len(answer.records) > 0 {
			return p, fmt.Errorf("the broker sent %d bytes that hold no whole batch", len(answer.records))
		}
		return p, nil
	}
	if batches, err = f.checked(batches); err != nil {
		return p, err
	}
	p.next = max(p.next, batches[len(batches)-1].last+1)
	p.batches = committed(batches, answer.aborted)
	return p, nil
}

// checked returns the batches up to the first whose checksum does not fit. Where it does not fit again and again, the
// batch is taken as it is: its messages become a skip.
func (f *fetcher) checked(batches []*batch) ([]*batch, error) {
	for i, b := range batches {
		if !b.corrupt {
			continue
		}
		if i > 0 {
			return batches[:i], nil
		}
		if f.corrupt++; f.corrupt < corruptTries {
			return nil, fmt.Errorf("the checksum of the messages at offset %d does not fit", b.first)
		}
		f.corrupt = 0
		return batches[:1], nil
	}
	f.corrupt = 0
	return batches, nil
}

// outOfRange finds out why there is nothing at the place to read on at.
func (f *fetcher) outOfRange(ctx context.Context) (portion, error) {
	o, err := f.conn.offsets(ctx, f.topic, f.partition)
	if err != nil {
		return portion{}, err
	}
	switch {
	case f.next > o.end:
		return portion{}, &BeyondEndError{Partition: f.name, Offset: f.next, End: o.end}
	case f.next >= o.first:
		return portion{}, kafkago.OffsetOutOfRange
	}
	p := portion{from: f.next, next: o.first, end: max(o.end, o.first)}
	if !f.fresh || f.next > 0 {
		at := ingest.Position{Source: f.name, Offset: f.next}
		p.expired = &ingest.Skip{Reason: Expired, At: at, Detail: fmt.Sprintf(
			"%d offsets from %d on were deleted before they were read: the topic keeps messages too short a time", o.first-f.next, f.next)}
	}
	f.next = o.first
	return p, nil
}
