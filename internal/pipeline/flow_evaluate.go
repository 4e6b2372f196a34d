package pipeline

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// evaluated is a batch and what its events came to.
type evaluated struct {
	*batch
	// verdicts and leftOut are those of each event; leftOut is why it is not evaluated, where it is left out.
	verdicts []verdicts
	leftOut  []string
}

// evaluate rebuilds and evaluates the requests of a batch on all workers.
func (f *flow) evaluate(ctx context.Context, b *batch, done chan<- *evaluated) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := &evaluated{batch: b}
	if f.look == nil {
		e.verdicts, e.leftOut = make([]verdicts, len(b.events)), make([]string, len(b.events))
		f.evaluateAll(e)
	} else if err := f.look(b); err != nil {
		return err
	}
	select {
	case done <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *flow) evaluateAll(e *evaluated) {
	next := make(chan int, len(e.events))
	for i, d := range e.events {
		if e.leftOut[i] = f.leftOut(e.batch, i); e.leftOut[i] == "" && d.Operation != "" {
			next <- i
		}
	}
	close(next)
	var workers sync.WaitGroup
	for range f.workers() {
		workers.Go(func() {
			for i := range next {
				e.verdicts[i] = f.verdicts(e.events[i])
			}
		})
	}
	workers.Wait()
	if f.compare != nil {
		f.compareAll(e)
	}
}

func (f *flow) compareAll(e *evaluated) {
	for i, of := range e.verdicts {
		if of.err == nil && e.leftOut[i] == "" {
			f.compare(e.events[i], of.records)
		}
	}
}

// leftOut says why an event is not evaluated, whatever it is; empty where it counts.
func (f *flow) leftOut(b *batch, i int) string {
	d := b.events[i]
	if !f.within(d.Event.StageTimestamp) {
		return reasonOutOfPeriod
	}
	if remembered(d) && f.seen.earlier(b.keys[i], d.Event.StageTimestamp, seenAt{end: ingest.Mark{Offset: b.eventOf[i]}}) {
		return reasonDuplicate
	}
	return ""
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
		decision.Recycle()
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
