package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
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
