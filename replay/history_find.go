package replay

import (
	"slices"
	"sort"
	"time"
)

// before finds the state of an object that a write found: the write gave it resourceVersion rv, and was made by the
// request writer between from and to. noop is true where the write changed nothing.
func (h *History) before(key Key, uid, writer string, rv uint64, from, to time.Time) (s state, noop, found bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	c := h.chain(key)
	if c == nil {
		return state{}, false, false
	}
	i := 0
	for i < len(c.versions) && (c.versions[i].rv == 0 || c.versions[i].rv < rv) {
		i++
	}
	if i < len(c.versions) && c.versions[i].rv == rv && c.versions[i].uid == uid {
		switch v := c.versions[i]; {
		case v.contested:
			// One of the two requests changed nothing: it found what the other had written.
			earlier, ok := c.predecessor(i)
			if !ok {
				return state{Object: missing(Changing)}, false, true
			}
			return oneOf(earlier, c.resolve(i)), false, true
		case v.from.IsZero() && !h.snapshotBefore(from):
			// Either this very write made what the snapshot shows, or it changed nothing.
			earlier, ok := c.predecessor(i)
			if !ok {
				return state{Object: missing(NoHistory)}, false, true
			}
			return oneOf(earlier, c.resolve(i)), false, true
		case v.writer != writer && !v.to.After(from):
			return c.resolve(i), true, true
		}
	} else {
		// A write without a resourceVersion that began later is no predecessor.
		for i > 0 && c.versions[i-1].rv == 0 && c.versions[i-1].from.After(to) {
			i--
		}
	}
	// The write's own version may be there already: it is the one to look back from.
	probe := &chain{unpacker: h.unpacker, history: h, floor: c.floor, versions: append(slices.Clone(c.versions[:i]), &version{uid: uid, rv: rv, writer: writer, from: from, to: to})}
	at := len(probe.versions) - 1
	probe.versions = append(probe.versions, c.versions[i:]...)
	s, found = probe.predecessor(at)
	return s, false, found
}

// at finds the state of an object by resourceVersion.
func (h *History) at(key Key, rv uint64) (state, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	c := h.chain(key)
	if c == nil {
		return state{}, false
	}
	for i, v := range c.versions {
		if v.rv == rv {
			return c.resolve(i), true
		}
	}
	return state{}, false
}

// snapshotBefore says whether the snapshot is known to be older than a moment.
func (h *History) snapshotBefore(t time.Time) bool {
	return !h.after.IsZero() && !h.after.After(t)
}

// fromFuture says whether the snapshot shows an object as it was only later than `to`.
func (h *History) fromFuture(v *version, to time.Time) bool {
	return v.from.IsZero() && v.rv != 0 && v.rv > h.clock.leastAfter(to)
}

// asOf finds the state of an object while a request was admitted. Writes take effect in the apiserver's own caches up
// to lag after they are done: of a write that was then under way, what it changed is not known. found is false where
// the object was never seen.
//
// Where the apiserver looks an object up in the store if its cache has none, an object that was being made counts as
// made: appears says so.
func (h *History) asOf(key Key, from, to time.Time, lag time.Duration, appears bool) (s state, found bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	c := h.chain(key)
	if c == nil {
		return state{}, false
	}
	last := -1
	var pending []int
	for i, v := range c.versions {
		switch settled := !v.to.Add(lag).After(from); {
		case settled:
			last, pending = i, nil
		case !v.from.After(to):
			pending = append(pending, i)
		}
	}
	switch {
	case last < 0 && len(pending) > 0 && !appears:
		return state{Object: missing(Changing)}, true
	case last < 0 && len(pending) > 0:
		last, pending = pending[0], pending[1:]
	case last < 0:
		return state{}, false
	case h.fromFuture(c.versions[last], to):
		return state{Object: missing(NoHistory)}, true
	case c.floor.hides(c.versions[last]):
		return state{Object: missing(Evicted)}, true
	case c.unordered(last):
		return state{Object: missing(WritesMissed)}, true
	}
	s = c.resolve(last)
	for _, i := range pending {
		s = oneOf(s, c.resolve(i))
	}
	return s, true
}

// latest finds the state of an object that a request received at `from` found, where its own write tells no
// resourceVersion.
//
// A request that itself wrote the object may have made the very state that the snapshot shows, unless the snapshot is
// known to be older than the request. wrote is its operation, empty where it failed.
func (h *History) latest(key Key, writer string, wrote Operation, from, to time.Time) (s state, found bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	c := h.chain(key)
	if c == nil {
		return state{}, false
	}
	last := -1
	for i, v := range c.versions {
		if v.writer == writer && writer != "" {
			continue
		}
		settled := !v.to.After(from)
		if !settled && !v.from.After(to) {
			return state{Object: missing(Changing)}, true
		}
		if settled {
			last = i
		}
	}
	if last < 0 {
		return state{}, false
	}
	if h.fromFuture(c.versions[last], to) {
		return state{Object: missing(NoHistory)}, true
	}
	if v := c.versions[last]; v.from.IsZero() && v.rv != 0 && !h.snapshotBefore(from) && c.maybeMadeBy(v, wrote, from) {
		return state{Object: missing(NoHistory)}, true
	}
	if c.floor.hides(c.versions[last]) {
		return state{Object: missing(Evicted)}, true
	}
	if c.unordered(last) {
		return state{Object: missing(WritesMissed)}, true
	}
	return c.resolve(last), true
}

// names lists the objects of a resource in a namespace; all namespaces where namespace is "*".
func (h *History) names(group, resource, namespace string) []Key {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var keys []Key
	for name, of := range h.collectionsOf(group, resource, namespace) {
		for c := range of.chains {
			keys = append(keys, Key{Group: name[0], Resource: name[1], Namespace: name[2], Name: c.key.Name})
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		if keys[i].Namespace != keys[j].Namespace {
			return keys[i].Namespace < keys[j].Namespace
		}
		return keys[i].Name < keys[j].Name
	})
	return keys
}

func (h *History) collectionsOf(group, resource, namespace string) map[[3]string]*collection {
	if namespace != "*" {
		name := [3]string{group, resource, namespace}
		if of := h.collections[name]; of != nil {
			return map[[3]string]*collection{name: of}
		}
		return nil
	}
	out := map[[3]string]*collection{}
	for name, of := range h.collections {
		if name[0] == group && name[1] == resource {
			out[name] = of
		}
	}
	return out
}

func (h *History) isListed(group, resource string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.listed[[2]string{group, resource}]
}
