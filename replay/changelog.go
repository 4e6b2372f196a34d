package replay

import (
	"slices"
	"sync"
	"time"
)

// changeLog is the writes of some kinds in the order in which they were done. RBAC and policies change seldom, and a
// change may touch any decision, so they are kept as a log and not looked up object by object.
type changeLog struct {
	// lag is how long after a write is done the apiserver may still act on what was before.
	lag time.Duration

	mu      sync.RWMutex
	listed  bool
	changes []timedChange
	order   int
	// opaque says that some change is not shown: the rare case in which the log has to be searched for it.
	opaque bool
	// watched says that some change was seen in the cluster: only then a change may be there twice.
	watched bool
}

type timedChange struct {
	Change
	from, to time.Time
	// rv is the resourceVersion that the write gave; 0 where that is not known. watched is as in version.
	rv      uint64
	watched bool
}

var rbacKinds = map[string]string{
	"roles": "Role", "clusterroles": "ClusterRole", "rolebindings": "RoleBinding", "clusterrolebindings": "ClusterRoleBinding",
}

func (l *changeLog) add(c Change, from, to time.Time) {
	l.insert(timedChange{Change: c, from: from, to: to})
}

func (l *changeLog) insert(c timedChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.amongWatched(&c) {
		return
	}
	l.changes = append(l.changes, c)
	l.opaque = l.opaque || c.Opaque
	// Kept in the order in which the writes were done, which is nearly the order in which they come.
	for i := len(l.changes) - 1; i > 0 && l.changes[i].to.Before(l.changes[i-1].to); i-- {
		l.changes[i], l.changes[i-1] = l.changes[i-1], l.changes[i]
		l.order++
	}
}

// amongWatched makes room for a change where the log and a watch show the same object: once for each resourceVersion,
// and in their order. It says whether the change is new.
func (l *changeLog) amongWatched(c *timedChange) bool {
	l.watched = l.watched || c.watched
	if c.rv == 0 || !l.watched {
		return true
	}
	for i := 0; i < len(l.changes); i++ {
		have := &l.changes[i]
		if have.rv == 0 || have.Kind != c.Kind || have.Namespace != c.Namespace || have.Name != c.Name {
			continue
		}
		switch {
		case have.rv == c.rv && c.watched:
			return false
		case have.rv == c.rv && have.watched:
			l.changes = slices.Delete(l.changes, i, i+1)
			l.order++
			i--
		case have.rv < c.rv && have.watched && have.to.After(c.to):
			have.to = c.to
			l.order++
		case have.rv > c.rv && c.watched && c.to.After(have.to):
			c.to = have.to.Add(-1) // It stands before the later one.
		}
	}
	slices.SortStableFunc(l.changes, func(a, b timedChange) int { return a.to.Compare(b.to) })
	return true
}

// asOf is the state while a request was admitted: the changes that had taken effect, and those of which it is not
// known whether they had.
func (l *changeLog) asOf(from, to time.Time) ChangeState {
	l.mu.RLock()
	defer l.mu.RUnlock()
	n := len(l.changes)
	pending := 0
	for n > 0 && l.changes[n-1].to.Add(l.lag).After(from) {
		n--
		if !l.changes[n].from.After(to) {
			pending = max(pending, n+1)
		}
	}
	return ChangeState{Changes: n, Pending: max(pending-n, 0), Order: l.order}
}

// hides says whether one of the first n changes is not shown, nor any later one of the same object.
func (l *changeLog) hides(n int) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.opaque {
		return false
	}
	hidden := map[[3]string]bool{}
	for _, c := range l.changes[:n] {
		if key := [3]string{c.Kind, c.Namespace, c.Name}; c.Opaque {
			hidden[key] = true
		} else {
			delete(hidden, key)
		}
	}
	return len(hidden) > 0
}

func (l *changeLog) first(n int) []Change {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make([]Change, n)
	for i, c := range l.changes[:n] {
		out[i] = c.Change
	}
	return out
}
