package pipeline

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/sink"
)

// evaluate evaluates the entries after which enough is observed. It says whether there was any.
func (n *session) evaluate(ctx context.Context, now time.Time) (bool, error) {
	if n.batch.full() {
		return false, nil
	}
	until := n.slowest(now)
	tight := n.budget.tight()
	due := 0
	for due < min(len(n.pending), evaluateAtOnce) {
		w := n.pending[due]
		if !until.IsZero() && !tight && w.latest.Add(lookAhead).After(until) {
			break
		}
		due++
	}
	if due == 0 {
		return false, nil
	}
	entries := n.pending[:due]
	n.pending = slices.Clone(n.pending[due:])
	return true, n.decide(ctx, entries)
}

// verdicts are what an event came to.
type verdicts struct {
	records []*sink.Record
	// unmatched: it is one request, of which there is no record because no policy has a rule for it.
	unmatched bool
	err       error
}

// requests counts the admission requests.
func (v verdicts) requests() int64 {
	if v.unmatched {
		return 1
	}
	return int64(len(v.records))
}

// decide evaluates entries on all workers, and adds what comes of them to the batch, in their order.
func (n *session) decide(ctx context.Context, entries []*entryWork) error {
	type job struct {
		w *entryWork
		d *replay.Decoded
	}
	var jobs []job
	for _, w := range entries {
		for _, d := range w.events {
			jobs = append(jobs, job{w, d})
		}
	}
	out := make([]verdicts, len(jobs))
	next := make(chan int, len(jobs))
	for i, j := range jobs {
		if j.d.Operation != "" {
			next <- i
		}
	}
	close(next)
	var workers sync.WaitGroup
	for range n.workers() {
		workers.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				out[i] = n.state.known(jobs[i].w.cluster).decide(jobs[i].d)
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	at := 0
	for _, w := range entries {
		of := out[at : at+len(w.events)]
		at += len(of)
		n.batch.add(w, of, n.state.known(w.cluster))
	}
	return nil
}

func (s *service) workers() int {
	if s.cfg.Workers > 0 {
		return s.cfg.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// offer hands the batch to the committer: at once when it is full, else when it is old enough and the committer is free.
func (n *session) offer(ctx context.Context, now time.Time) error {
	if !n.batch.any() {
		return nil
	}
	old := now.Sub(n.batch.begun) >= batchAge || len(n.pending) == 0 || n.budget.over()
	if !n.batch.full() && (!old || n.inFlight > 0) {
		return nil
	}
	for n.batch.full() && n.inFlight >= cap(n.commits)+1 {
		select {
		case b := <-n.committed:
			n.settle(b)
		case <-n.failed:
			return errCommit
		case <-time.After(time.Second):
			n.cfg.Status.beats(time.Now()) // It is the store that does not move.
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b := n.batch
	for cluster := range b.texts { // Policies may have changed since the batch was begun.
		b.texts[cluster] = append(b.texts[cluster], n.state.known(cluster).policies().Texts()...)
	}
	select {
	case n.commits <- b:
		n.inFlight++
		n.batch = newOpenBatch(b.reached)
	default: // The committer is at work; there is time.
	}
	return nil
}

// settle is called with each batch that is stored.
func (n *session) settle(b *openBatch) {
	n.inFlight--
	var size int64
	for _, w := range b.entries {
		size += w.size
		w.leave(nil)
	}
	n.budget.give(size)
}

// leave tells the source when the last entry of a chunk is stored.
func (w *entryWork) leave(err error) {
	q := w.portion
	if q.left < 0 {
		return
	}
	if q.left--; q.left == 0 && q.chunk.Done != nil {
		q.left = -1
		q.chunk.Done(err)
	}
}
