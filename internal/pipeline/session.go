package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/sink"
)

const (
	// lookAhead is how much of the log after an event is observed before the event is evaluated: what was logged
	// shortly after a request, and had begun before its end, may have been what it saw.
	lookAhead = 2 * time.Second
	// quiet is how long a partition that holds no more is waited for.
	quiet = 2 * time.Second
	// maxSkew is how far, in the time of the log, a partition may be ahead of the slowest.
	maxSkew = 30 * time.Second
	// evaluateAtOnce is how many entries are evaluated side by side.
	evaluateAtOnce = 512
	// observeAtOnce is how many portions are observed before evaluation has its turn.
	observeAtOnce = 8
	// A batch is committed when it has so many rows or entries, or is so old.
	batchRows        = 10_000
	batchMostEntries = 20_000
	batchAge         = 250 * time.Millisecond
)

// session reads the partitions from where the store has them, until the context ends, the assignment changes, or the
// store says that another process has moved on. Partitions are read and decoded side by side, observed in the order of
// the log's time as far as it can be told, and evaluated once what follows is observed too.
type session struct {
	*service
	parts    []*part
	budget   *budget
	decoding chan struct{}
	woken    chan struct{}

	// pending are the entries that were observed and are to be evaluated, in that order.
	pending []*entryWork
	batch   *openBatch
	commits chan *openBatch
	// committed gives back what the committer is done with.
	committed chan *openBatch
	// failed is closed when the committer stores no more.
	failed   chan struct{}
	inFlight int
}

func (n *session) wake() {
	select {
	case n.woken <- struct{}{}:
	default:
	}
}

// errMoved ends a session whose partitions are not where it believed them to be.
var errMoved = errors.New("the store has moved on")

// run returns nil where all partitions have ended and everything is stored.
func (n *session) run(ctx context.Context) error {
	reading, stopReading := context.WithCancel(ctx)
	var taps, committer sync.WaitGroup
	for _, p := range n.parts {
		taps.Go(func() { n.tap(reading, p) })
	}
	var commitErr error
	committer.Go(func() { commitErr = n.commitAll(ctx) })
	err := n.loop(ctx)
	stopReading()
	taps.Wait()
	close(n.commits)
	committer.Wait()
	n.abandon(err)
	n.lastCheckpoint(ctx)
	if errors.Is(err, errCommit) || err == nil {
		return commitErr
	}
	return err
}

// errCommit says that the committer has ended.
var errCommit = errors.New("the committer has ended")

// abandon tells the sources of what was not stored that it was not.
func (n *session) abandon(err error) {
	if err == nil {
		err = errMoved
	}
	for b := range n.committed {
		n.settle(b)
	}
	for _, p := range n.parts {
		p.mu.Lock()
		for _, q := range p.waiting {
			<-q.decoded
			q.refuse(err)
		}
		p.waiting = nil
		p.mu.Unlock()
	}
	for _, w := range n.pending {
		w.portion.refuse(err)
	}
	if n.batch != nil {
		for _, w := range n.batch.entries {
			w.portion.refuse(err)
		}
	}
}

func (n *session) loop(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		now := time.Now()
		n.cfg.Status.beats(now)
		n.cfg.Metrics.Queue(n.budget.inUse())
		busy, err := n.observe(now)
		if err != nil {
			return err
		}
		evaluated, err := n.evaluate(ctx, now)
		if err != nil {
			return err
		}
		if err := n.offer(ctx, now); err != nil {
			return err
		}
		if n.done() {
			return nil
		}
		if err := n.checkpoint(ctx, now); err != nil {
			return err
		}
		if busy || evaluated {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		select {
		case <-n.woken:
		case <-tick.C:
		case b := <-n.committed:
			n.settle(b)
		case <-n.failed:
			return errCommit
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// done says whether every partition has ended and all is stored.
func (n *session) done() bool {
	if len(n.pending) > 0 || n.batch.any() || n.inFlight > 0 {
		return false
	}
	return !slices.ContainsFunc(n.parts, func(p *part) bool { return !p.ended })
}

// observe takes in the portions whose turn it is. It says whether there was any.
func (n *session) observe(now time.Time) (any bool, err error) {
	for range observeAtOnce {
		p := n.next(now)
		if p == nil || n.mustStore() {
			return any, nil
		}
		any = true
		q := p.head()
		p.shift()
		if err := n.take(p, q, now); err != nil {
			q.refuse(err)
			return any, err
		}
	}
	return any, nil
}

// mustStore says whether so much is under way that some of it has to be stored before more is taken in.
func (n *session) mustStore() bool {
	return n.budget.over() && (len(n.pending) > 0 || n.batch.any() || n.inFlight > 0)
}

// next is the partition whose portion is next: the one that is furthest behind in the time of the log, or one that is
// not far ahead of it. Nil where none is ready.
func (n *session) next(now time.Time) *part {
	slowest := n.slowest(now)
	var best *part
	for _, p := range n.parts {
		if p.head() == nil || !slowest.IsZero() && p.frontier.After(slowest.Add(maxSkew)) {
			continue
		}
		if best == nil || p.frontier.Before(best.frontier) {
			best = p
		}
	}
	return best
}

// slowest is the earliest frontier of the partitions that may still hold more; zero where none does.
func (n *session) slowest(now time.Time) time.Time {
	var least time.Time
	found := false
	for _, p := range n.parts {
		if p.settled(now) && p.unmerged() == 0 {
			continue
		}
		if !found || p.frontier.Before(least) {
			least, found = p.frontier, true
		}
	}
	if found && least.IsZero() {
		return time.Unix(0, 0) // it has shown nothing yet: all others wait
	}
	return least
}

// settled says whether a partition is not waited for.
func (p *part) settled(now time.Time) bool {
	return p.ended || !p.idle.IsZero() && now.Sub(p.idle) >= quiet
}

// take observes a portion, and keeps what is to be evaluated.
func (n *session) take(p *part, q *portion, now time.Time) error {
	p.behind = q.chunk.Behind
	switch {
	case !q.chunk.CaughtUp:
		p.idle = time.Time{}
	case p.idle.IsZero() || len(q.entries) > 0:
		p.idle = now
	}
	p.ended = p.ended || q.ended
	var unused int64
	for _, w := range q.entries {
		kept, err := n.keep(p, w)
		if err != nil {
			return err
		}
		if !kept {
			unused += w.size
			w.leave(nil)
		}
	}
	if len(q.entries) == 0 && q.chunk.Done != nil {
		q.chunk.Done(nil)
	}
	n.budget.give(unused)
	n.cfg.Metrics.Partition(p.id, p.own, p.behind, p.frontier)
	return nil
}

// keep observes an entry, and says whether it is to be evaluated.
func (n *session) keep(p *part, w *entryWork) (bool, error) {
	delivered := w.portion.chunk.Delivery != ""
	if delivered || w.end.Compare(p.observed) > 0 {
		state, err := n.state.of(w.cluster)
		if err != nil {
			return false, err
		}
		for _, d := range w.events {
			state.observe(d, seenAt{partition: p.id, end: w.end})
		}
		if !delivered {
			p.observed = w.end
		}
	}
	if w.latest.After(p.frontier) {
		p.frontier = w.latest
	}
	if !p.own || !delivered && w.end.Compare(p.stored) <= 0 {
		return false, nil
	}
	n.pending = append(n.pending, w)
	return true, nil
}

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
	err     error
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

func (p *part) String() string { return fmt.Sprintf("%s (own: %t)", p.id, p.own) }
