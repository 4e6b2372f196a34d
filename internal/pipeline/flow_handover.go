package pipeline

import (
	"context"
	"time"

	"github.com/vapshadow/vapshadow/replay"
)

// handOver counts a batch, and gives away what its events came to, in their order.
func (f *flow) handOver(ctx context.Context, e *evaluated) error {
	f.countAll(e.batch)
	for i, of := range e.verdicts {
		if of.err != nil {
			return of.err
		}
		if err := f.handOverEvent(e.events[i], e.leftOut[i], of); err != nil {
			return err
		}
		if f.store != nil {
			f.store.event(e.events[i], e.eventOf[i], e.leftOut[i], of)
		}
		of.recycle()
	}
	for _, t := range e.told {
		f.tell(t)
	}
	f.progress()
	return f.stored(ctx, e.batch)
}

// countAll counts what there is, before anything is left out.
func (f *flow) countAll(b *batch) {
	for _, s := range b.skips {
		f.result.Skipped[string(s.Reason)]++
		if f.cfg.Skips != nil {
			f.cfg.Skips(s)
		}
	}
	f.result.Events += int64(len(b.events) + len(b.told))
}

// handOverEvent counts an event and gives away what it came to.
func (f *flow) handOverEvent(d *replay.Decoded, leftOut string, of verdicts) error {
	f.count(d, leftOut)
	f.result.Requests += of.requests()
	if of.unmatched {
		f.cfg.Unmatched(d.Event.StageTimestamp)
	}
	for _, r := range of.records {
		if err := f.cfg.Records(r); err != nil {
			return err
		}
	}
	return nil
}

func (f *flow) count(d *replay.Decoded, leftOut string) {
	if leftOut == reasonOutOfPeriod {
		f.result.OutOfPeriod++
		return
	}
	f.period(d.Event.StageTimestamp)
	switch {
	case leftOut != "":
		f.result.Skipped[leftOut]++
	case d.Operation == "":
		f.result.NotAdmission[string(d.NotAdmission)]++
	default:
		f.result.Admissions++
	}
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
