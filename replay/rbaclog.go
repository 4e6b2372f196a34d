package replay

import (
	"sync"
	"time"
)

// rbacLog is the writes of RBAC objects in the order in which they were done. RBAC changes seldom, and a change may
// touch any decision, so it is kept as a log and not looked up object by object.
type rbacLog struct {
	mu      sync.RWMutex
	listed  bool
	changes []timedChange
	order   int
	// opaque says that some change is not shown: the rare case in which the log has to be searched for it.
	opaque bool
}

type timedChange struct {
	RBACChange
	from, to time.Time
}

var rbacKinds = map[string]string{
	"roles": "Role", "clusterroles": "ClusterRole", "rolebindings": "RoleBinding", "clusterrolebindings": "ClusterRoleBinding",
}

func (l *rbacLog) add(c RBACChange, from, to time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes = append(l.changes, timedChange{RBACChange: c, from: from, to: to})
	l.opaque = l.opaque || c.Opaque
	// Kept in the order in which the writes were done, which is nearly the order in which they come.
	for i := len(l.changes) - 1; i > 0 && l.changes[i].to.Before(l.changes[i-1].to); i-- {
		l.changes[i], l.changes[i-1] = l.changes[i-1], l.changes[i]
		l.order++
	}
}

// asOf is the state of RBAC while a request was admitted: the changes that had taken effect, and those of which it is
// not known whether they had.
func (l *rbacLog) asOf(from, to time.Time) (RBACState, Evidence) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.listed {
		return RBACState{}, Evidence{Level: Missing, Because: NoRBAC}
	}
	n := len(l.changes)
	pending := 0
	for n > 0 && l.changes[n-1].to.Add(cacheLag).After(from) {
		n--
		if !l.changes[n].from.After(to) {
			pending = max(pending, n+1)
		}
	}
	state := RBACState{Changes: n, Pending: max(pending-n, 0), Order: l.order}
	if l.opaque && l.hides(n+state.Pending) {
		return RBACState{}, Evidence{Level: Missing, Because: WritesMissed}
	}
	return state, Evidence{Level: Presumed}
}

// hides says whether one of the first n changes is not shown, nor any later one of the same object.
func (l *rbacLog) hides(n int) bool {
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

func (l *rbacLog) first(n int) []RBACChange {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make([]RBACChange, n)
	for i, c := range l.changes[:n] {
		out[i] = c.RBACChange
	}
	return out
}
