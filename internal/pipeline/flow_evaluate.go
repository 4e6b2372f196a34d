package pipeline

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// evaluate rebuilds and evaluates the requests of a batch on all workers, and hands the records on in order.
func (f *flow) evaluate(ctx context.Context, b *batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	out := make([]verdicts, len(b.events))
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
				out[i] = f.verdicts(b.events[i])
			}
		})
	}
	workers.Wait()
	for _, of := range out {
		if of.err != nil {
			return of.err
		}
	}
	for i, of := range out {
		if err := f.handOver(b.events[i], leftOut[i], of); err != nil {
			return err
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

// handOver gives away what an event came to.
func (f *flow) handOver(d *replay.Decoded, leftOut string, of verdicts) error {
	f.result.Requests += of.requests()
	if of.unmatched {
		f.cfg.Unmatched(d.Event.StageTimestamp)
	}
	for _, r := range of.records {
		if err := f.cfg.Records(r); err != nil {
			return err
		}
	}
	if f.compare != nil && leftOut == "" {
		f.compare(d, of.records)
	}
	return nil
}

func (f *flow) verdicts(d *replay.Decoded) (out verdicts) {
	if f.unmatched(d) {
		return verdicts{unmatched: true}
	}
	for _, req := range f.replayer.Requests(d) {
		decision, err := f.decide(req)
		if err != nil {
			return verdicts{err: err}
		}
		out.records = append(out.records, record(f.cfg.ClusterName, f.cfg.TeamLabel, req, decision))
	}
	return out
}

// unmatched says whether no policy has a rule for the request of an event, as far as that is known without a look at it.
func (f *flow) unmatched(d *replay.Decoded) bool {
	if !d.Light() {
		return false
	}
	ev, ref := d.Event, d.Event.ObjectRef
	resource := schema.GroupVersionResource{Group: ref.APIGroup, Version: ref.APIVersion, Resource: ref.Resource}
	return !f.mayMatch(resource, ref.Subresource, f.replayer.View(ev.RequestReceivedTimestamp, ev.StageTimestamp))
}
