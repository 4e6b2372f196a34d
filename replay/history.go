package replay

import (
	"slices"
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
	// late are the resources of which nothing was kept at first.
	late map[[2]string]bool
	// collections finds the objects of a resource in a namespace, for params and RBAC.
	collections map[[3]string]*collection
	unpacker    *unpacker
	lru         lru
	evicted     evictions
	clock       clock
	watch       watches
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
		late:        map[[2]string]bool{},
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
	if v.watched {
		h.watch.add(v)
	}
	switch {
	case v.rv == 0:
	case v.from.IsZero():
		h.newest = max(h.newest, v.rv)
	default:
		if !v.watched {
			h.clock.add(v.from, v.rv)
			h.watch.prove(v.rv, v.to)
		}
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

// chain finds an object, and notes that it was looked for.
func (h *History) chain(key Key) *chain {
	c := h.objects[key]
	if c != nil && !c.used.Load() {
		c.used.Store(true)
	}
	return c
}

// showed takes in that the log shows a resourceVersion that was given out before a moment.
func (h *History) showed(rv uint64, before time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watch.prove(rv, before)
	if rv > h.newest && (h.after.IsZero() || before.Before(h.after)) {
		h.after = before
	}
}

// list notes that the snapshot holds every object of a resource.
func (h *History) list(group, resource string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listed[[2]string{group, resource}] = true
}

// begin notes that objects of a resource are kept from now on, and that earlier ones were not.
func (h *History) begin(resource [2]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late[resource] = true
}

// begun says whether the objects of a resource are kept since some time only.
func (h *History) begun(group, resource string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.late[[2]string{group, resource}]
}
