package replay

import (
	"slices"
	"sort"
	"strconv"
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

// version is one write of an object: what it left behind, and when it took effect.
type version struct {
	uid string
	// rv is the resourceVersion that the write gave the object; 0 where the log does not show it.
	rv uint64
	// content is the whole object, in the version of the API that it was logged in.
	content map[string]any
	// derive makes the content from the one before: a write of which only a part was logged.
	derive func(before map[string]any) map[string]any
	// unknown are the parts of the content that are not known.
	unknown []Unknown
	// contested: another request at the same time shows the same resourceVersion. One of the two wrote it, the other
	// changed nothing, and which is which is not known.
	contested bool
	// deleted: the object was gone afterwards.
	deleted bool
	// from and to bound the moment of the write; both are zero for the snapshot.
	from, to time.Time
	// writer is the auditID of the request that wrote; empty for the snapshot.
	writer string
	// bytes is about what the version holds on to.
	bytes int64
}

// opaque says whether nothing is known of what the write left behind.
func (v *version) opaque() bool { return v.content == nil && v.derive == nil && !v.deleted }

// History knows the states of each object that the snapshot and the log have shown, by resourceVersion and by time.
// It is safe for use by several goroutines; what it hands out is never changed.
type History struct {
	mu      sync.RWMutex
	objects map[Key]*chain
	// listed are the resources of which the snapshot holds every object, so that absence says something.
	listed map[[2]string]bool
	// byResource finds the objects of a resource in a namespace, for params and RBAC.
	byResource map[[3]string]map[Key]bool
	lru        lru
	clock      clock
	// newest is the greatest resourceVersion of the snapshot; after the end of the first write known to be newer.
	newest uint64
	after  time.Time
}

// chain is the versions of one name in the order of their resourceVersions; writes without one stand by time.
type chain struct {
	key        Key
	versions   []*version
	bytes      int64
	prev, next *chain
}

// NewHistory makes a History that keeps about limit bytes of objects; 0 is no limit.
func NewHistory(limit int64) *History {
	return &History{
		objects:    map[Key]*chain{},
		listed:     map[[2]string]bool{},
		byResource: map[[3]string]map[Key]bool{},
		lru:        lru{limit: limit},
	}
}

func (h *History) add(key Key, v *version) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.objects[key]
	if c == nil {
		c = &chain{key: key}
		h.objects[key] = c
		group := [3]string{key.Group, key.Resource, key.Namespace}
		if h.byResource[group] == nil {
			h.byResource[group] = map[Key]bool{}
		}
		h.byResource[group][key] = true
	}
	if !c.insert(v) {
		return
	}
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
	for _, old := range h.lru.overflow() {
		h.lru.drop(old)
		delete(h.objects, old.key)
		delete(h.byResource[[3]string{old.key.Group, old.key.Resource, old.key.Namespace}], old.key)
	}
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
		c.versions = nil
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

// insert puts a version in its place and says whether it was new. A write that changed nothing shows the
// resourceVersion that the object already had: it is no version of its own.
func (c *chain) insert(v *version) bool {
	if v.rv != 0 {
		for _, have := range c.versions {
			if have.rv == v.rv && have.uid == v.uid && have.deleted == v.deleted {
				have.contested = have.contested || have.overlaps(v) && !have.from.IsZero()
				if v.to.Before(have.from) {
					have.from, have.to, have.writer = v.from, v.to, v.writer
				}
				return false
			}
		}
	}
	c.versions = slices.Insert(c.versions, c.place(v), v)
	return true
}

// place is where a version belongs: by resourceVersion among those that have one, and between these by the time at
// which it was done.
func (c *chain) place(v *version) int {
	first, at := 0, len(c.versions)
	for i, w := range c.versions {
		if v.rv == 0 || w.rv == 0 {
			continue
		}
		if w.rv > v.rv {
			at = i
			break
		}
		first = i + 1
	}
	for at > first && v.to.Before(c.versions[at-1].to) {
		at--
	}
	return at
}

// forget drops the versions that no request received after `before` can still see, all but the last of them.
func (h *History) forget(key Key, before time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.objects[key]
	if c == nil {
		return
	}
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
	}
	c.versions = slices.Delete(c.versions, 0, keep)
	if len(c.versions) == 1 && c.versions[0].deleted && c.versions[0].to.Before(before) {
		h.lru.drop(c)
		delete(h.objects, key)
		delete(h.byResource[[3]string{key.Group, key.Resource, key.Namespace}], key)
	}
}

// state is what a version of an object was.
type state struct {
	Object
	rv      string
	uid     string
	deleted bool
}

// resolve builds the content of the version at index i.
func (c *chain) resolve(i int) state {
	v := c.versions[i]
	s := state{uid: v.uid, deleted: v.deleted}
	if v.rv != 0 {
		s.rv = strconv.FormatUint(v.rv, 10)
	}
	switch {
	case v.derive != nil:
		before, ok := c.predecessor(i)
		if !ok || before.Level == Missing {
			s.Object = missing(WritesMissed)
			return s
		}
		if s.uid == "" {
			s.uid = before.uid
		}
		content := v.derive(before.Content)
		unknown := append(slices.Clone(before.Unknown), v.unknown...)
		if len(managedFields(before.Content)) == 0 {
			unknown = append(unknown, managedFields(content)...)
		}
		s.Object = Object{Evidence: Evidence{Level: Presumed}, Content: content, Unknown: unknown}
	case v.content != nil:
		s.Object = Object{Evidence: Evidence{Level: Presumed}, Content: v.content, Unknown: append(slices.Clip(v.unknown), managedFields(v.content)...)}
	default:
		s.Object = missing(WritesMissed)
	}
	return s
}

// predecessor is the state that the version at i was made from.
func (c *chain) predecessor(i int) (state, bool) {
	v := c.versions[i]
	j := i - 1
	for j >= 0 && c.versions[j].opaque() {
		j--
	}
	if j >= 0 && c.versions[j].rv == 0 && c.versions[j].derive != nil && c.versions[j].overlaps(v) {
		return state{Object: missing(WritesMissed)}, true
	}
	if j < 0 || c.versions[j].deleted || v.uid != "" && c.versions[j].uid != "" && c.versions[j].uid != v.uid {
		return state{}, false
	}
	// A write with nothing to show may have come in between.
	for _, o := range c.versions {
		if o.opaque() && !o.to.Before(c.versions[j].from) && !o.from.After(v.to) && o.writer != v.writer {
			return state{Object: missing(WritesMissed)}, true
		}
	}
	return c.resolve(j), true
}

func (v *version) overlaps(w *version) bool { return !v.to.Before(w.from) && !w.to.Before(v.from) }

// before finds the state of an object that a write found: the write gave it resourceVersion rv, and was made by the
// request writer between from and to. noop is true where the write changed nothing.
func (h *History) before(key Key, uid, writer string, rv uint64, from, to time.Time) (s state, noop, found bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	c := h.objects[key]
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
	}
	// The write's own version may be there already: it is the one to look back from.
	probe := &chain{versions: append(slices.Clone(c.versions[:i]), &version{uid: uid, rv: rv, writer: writer, from: from, to: to})}
	at := len(probe.versions) - 1
	probe.versions = append(probe.versions, c.versions[i:]...)
	s, found = probe.predecessor(at)
	return s, false, found
}

// at finds the state of an object by resourceVersion.
func (h *History) at(key Key, rv uint64) (state, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	c := h.objects[key]
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
	c := h.objects[key]
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
	c := h.objects[key]
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
	if v := c.versions[last]; v.from.IsZero() && v.rv != 0 && !h.snapshotBefore(from) && v.maybeMadeBy(wrote, from) {
		return state{Object: missing(NoHistory)}, true
	}
	if c.unordered(last) {
		return state{Object: missing(WritesMissed)}, true
	}
	return c.resolve(last), true
}

// unordered says whether another write was under way together with that of the version at i, and the log does not show
// its resourceVersion: which of the two came later is not known.
func (c *chain) unordered(i int) bool {
	return slices.ContainsFunc(c.versions, func(w *version) bool {
		return w != c.versions[i] && w.rv == 0 && w.overlaps(c.versions[i])
	})
}

// maybeMadeBy says whether a request received at `from` may have left behind what the snapshot shows. A deletion leaves
// nothing, or an object that is marked; an object that was made in or after the same second may be another.
func (v *version) maybeMadeBy(wrote Operation, from time.Time) bool {
	if wrote != Delete {
		return wrote != ""
	}
	metadata := metadataOf(v.content)
	made, err := time.Parse(time.RFC3339, stringAt(metadata, "creationTimestamp"))
	return err != nil || metadata["deletionTimestamp"] != nil || !made.Before(from.Truncate(time.Second))
}

// names lists the objects of a resource in a namespace; all namespaces where namespace is "*".
func (h *History) names(group, resource, namespace string) []Key {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var keys []Key
	if namespace != "*" {
		for key := range h.byResource[[3]string{group, resource, namespace}] {
			keys = append(keys, key)
		}
	} else {
		for g, of := range h.byResource {
			if g[0] == group && g[1] == resource {
				for key := range of {
					keys = append(keys, key)
				}
			}
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

func (h *History) isListed(group, resource string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.listed[[2]string{group, resource}]
}
