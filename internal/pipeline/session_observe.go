package pipeline

import (
	"time"
)

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
		for i, d := range w.events {
			state.observe(d, w.keys[i], seenAt{partition: p.id, end: w.end})
		}
		if w.latest.After(state.newest) {
			state.newest = w.latest
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
