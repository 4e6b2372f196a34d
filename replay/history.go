package replay

import (
	"slices"
	"sort"
	"sync"
	"time"
)

// Key names an object across the versions of its API: events.k8s.io and core events are the same objects.
type Key struct {
	Group, Resource, Namespace, Name string
}

func keyOf(group, resource, namespace, name string) Key {
	if group == "events.k8s.io" {
		group = ""
	}
	return Key{Group: group, Resource: resource, Namespace: namespace, Name: name}
}

// History knows the states of each object that the snapshot and the log have shown, by resourceVersion and by time.
// It is safe for use by several goroutines; what it hands out is never changed.
type History struct {
	mu      sync.RWMutex
	objects map[Key]*chain
	// listed are the resources of which the snapshot holds every object, so that absence says something.
	listed map[[2]string]bool
	// collections finds the objects of a resource in a namespace, for params and RBAC.
	collections map[[3]string]*collection
	unpacker    *unpacker
	lru         lru
	evicted     evictions
	clock       clock
	// newest is the greatest resourceVersion of the snapshot; after the end of the first write known to be newer.
	newest uint64
	after  time.Time
}

// collection is the objects of a resource in a namespace. Their keys share its strings.
type collection struct {
	group, resource, namespace string
	chains                     map[*chain]struct{}
}

// NewHistory makes a History that keeps about limit bytes of objects; 0 is no limit.
func NewHistory(limit int64) *History {
	unpacked := int64(maxUnpackedBytes)
	if limit > 0 {
		unpacked = min(unpacked, limit/4)
		limit -= unpacked
	}
	return &History{
		objects:     map[Key]*chain{},
		listed:      map[[2]string]bool{},
		collections: map[[3]string]*collection{},
		unpacker:    newUnpacker(unpacked),
		lru:         lru{limit: limit},
		evicted:     newEvictions(limit),
	}
}

func (h *History) add(key Key, v *version) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.objects[key]
	if c == nil {
		c = h.newChain(key)
	}
	if !c.insert(v) {
		return
	}
	h.pack(v)
	switch {
	case v.rv == 0:
	case v.from.IsZero():
		h.newest = max(h.newest, v.rv)
	default:
		h.clock.add(v.from, v.rv)
		if v.rv > h.newest && (h.after.IsZero() || v.to.Before(h.after)) {
			h.after = v.to
		}
	}
	c.bytes += v.bytes
	h.lru.touch(c, v.bytes)
	h.evict(c)
}

func (h *History) newChain(key Key) *chain {
	name := [3]string{key.Group, key.Resource, key.Namespace}
	of := h.collections[name]
	if of == nil {
		of = &collection{group: key.Group, resource: key.Resource, namespace: key.Namespace, chains: map[*chain]struct{}{}}
		h.collections[name] = of
	}
	key.Group, key.Resource, key.Namespace = of.group, of.resource, of.namespace
	c := &chain{key: key, unpacker: h.unpacker, history: h, bytes: chainBytes + int64(len(key.Name))}
	c.floor, _ = h.evicted.find(key)
	h.objects[key] = c
	of.chains[c] = struct{}{}
	h.lru.used += c.bytes
	return c
}

func (h *History) remove(c *chain) {
	h.lru.drop(c)
	for _, v := range c.versions {
		h.unpacker.release(v.object)
	}
	delete(h.objects, c.key)
	name := [3]string{c.key.Group, c.key.Resource, c.key.Namespace}
	delete(h.collections[name].chains, c)
	if len(h.collections[name].chains) == 0 {
		delete(h.collections, name)
	}
}

// fit lets go of what is over the limit.
func (h *History) fit() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.evict(nil)
}

// evict lets go of what is over the limit, but for the chain at hand.
func (h *History) evict(atHand *chain) {
	for _, old := range h.lru.overflow(atHand) {
		h.evicted.add(old.key, old.last())
		h.remove(old)
	}
}

// restore takes in the versions of an object, in their order, as they were saved. It is written later than all that
// were restored before it.
func (h *History) restore(key Key, versions []*version, used bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old := h.objects[key]; old != nil {
		h.remove(old)
	}
	c := h.newChain(key)
	c.versions, c.restored = versions, true
	c.used.Store(used)
	var grown int64
	for _, v := range versions {
		v.bytes = v.size()
		grown += v.bytes
	}
	c.bytes += grown
	h.lru.touch(c, grown)
}

// restored says whether a restored history told of an object.
func (h *History) restored(key Key) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	c := h.objects[key]
	return c != nil && c.restored
}

// pack packs the object of a version.
func (h *History) pack(v *version) {
	if v.content != nil {
		if v.raw == nil {
			v.raw = appendJSON(nil, v.content)
		}
		v.object = h.unpacker.pack(v.content, v.raw)
		v.content, v.raw = nil, nil
	}
	v.bytes = v.size()
}

// snapshot takes in an object of the snapshot. Of two of the same name the one that was read back from a cluster counts,
// else the later.
func (h *History) snapshot(key Key, v *version) {
	h.mu.Lock()
	if c := h.objects[key]; c != nil {
		if v.uid == "" && c.versions[0].uid != "" {
			h.mu.Unlock()
			return
		}
		h.remove(c)
	}
	h.mu.Unlock()
	h.add(key, v)
}

// inSnapshot says whether the snapshot shows what a write left behind, or a later state.
func (h *History) inSnapshot(key Key, v *version) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	c := h.objects[key]
	if c == nil || v.rv == 0 {
		return false
	}
	first := c.versions[0]
	return first.from.IsZero() && first.rv >= v.rv
}

// forget drops the versions that no request received after `before` can still see, all but the last of them.
func (h *History) forget(key Key, before time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.objects[key]
	if c == nil {
		return
	}
	h.settle(c, before)
	keep := 0
	for i := len(c.versions) - 1; i > 0; i-- {
		if v := c.versions[i]; v.to.Before(before) && v.derive == nil {
			keep = i
			break
		}
	}
	for _, v := range c.versions[:keep] {
		c.bytes -= v.bytes
		h.lru.used -= v.bytes
		h.unpacker.release(v.object)
	}
	c.versions = slices.Delete(c.versions, 0, keep)
	if len(c.versions) == 1 && c.versions[0].deleted && c.versions[0].to.Before(before) {
		h.remove(c)
	}
}

// settle makes the last state that no request received after `before` can still change the outcome of, so that what it
// was made of can go.
func (h *History) settle(c *chain, before time.Time) {
	i := len(c.versions) - 1
	for i >= 0 && !c.versions[i].to.Before(before) {
		i--
	}
	if i < 0 || c.versions[i].derive == nil {
		return
	}
	v := c.versions[i]
	if slices.ContainsFunc(c.versions[i+1:], func(w *version) bool { return !w.from.After(v.to) }) {
		return
	}
	s := c.resolve(i)
	settled := &version{uid: s.uid, rv: v.rv, from: v.from, to: v.to, writer: v.writer, inferred: s.inferred}
	if s.Level != Missing && !c.unordered(i) {
		settled.content, settled.unknown = s.Content, s.Unknown
	}
	h.pack(settled)
	c.versions[i] = settled
	c.bytes += settled.bytes - v.bytes
	h.lru.used += settled.bytes - v.bytes
}

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

// chain finds an object, and notes that it was looked for.
func (h *History) chain(key Key) *chain {
	c := h.objects[key]
	if c != nil && !c.used.Load() {
		c.used.Store(true)
	}
	return c
}

// snapshotBefore says whether the snapshot is known to be older than a moment.
func (h *History) snapshotBefore(t time.Time) bool {
	return !h.after.IsZero() && !h.after.After(t)
}

// showed takes in that the log shows a resourceVersion that was given out before a moment.
func (h *History) showed(rv uint64, before time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if rv > h.newest && (h.after.IsZero() || before.Before(h.after)) {
		h.after = before
	}
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

// list notes that the snapshot holds every object of a resource.
func (h *History) list(group, resource string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listed[[2]string{group, resource}] = true
}

func (h *History) isListed(group, resource string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.listed[[2]string{group, resource}]
}
