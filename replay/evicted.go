package replay

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"time"
)

// evictions remembers, as hashes, the objects that had to go, so that their absence is not taken for something that it
// is not. It is bounded too: two generations, of which the older goes when the newer is full.
type evictions struct {
	most         int // in a generation
	newer, older map[uint64]floor
	// resources are those of which an object went, forgotten those of which one went that is no longer remembered.
	resources, forgotten map[[2]string]floor
}

// floor is the last write of an object that had to go. What an earlier one left behind is not what a later one found.
type floor struct {
	rv uint64
	// to is the end of the last write, and unnumbered that of the last of which the log shows no resourceVersion, in
	// nanoseconds since 1970; 0 where there was none.
	to, unnumbered int64
}

func (f floor) max(g floor) floor {
	return floor{rv: max(f.rv, g.rv), to: max(f.to, g.to), unnumbered: max(f.unnumbered, g.unnumbered)}
}

// hides says whether a write may have been followed by one that is no longer known.
func (f floor) hides(v *version) bool {
	began := func(until int64) bool { return until != 0 && !v.from.After(time.Unix(0, until)) }
	if v.rv == 0 {
		return began(f.to)
	}
	return v.rv < f.rv || began(f.unnumbered)
}

// last is the last write of the object.
func (c *chain) last() floor {
	out := c.floor
	for _, v := range c.versions {
		now := floor{rv: v.rv}
		if !v.to.IsZero() {
			now.to = v.to.UnixNano()
		}
		if v.rv == 0 {
			now.unnumbered = now.to
		}
		out = out.max(now)
	}
	return out
}

// hashBytes is about what a remembered object takes.
const hashBytes = 56

func newEvictions(limit int64) evictions {
	return evictions{
		most:  int(min(max(limit/1024, 1<<12), 1<<17)),
		newer: map[uint64]floor{}, older: map[uint64]floor{},
		resources: map[[2]string]floor{}, forgotten: map[[2]string]floor{},
	}
}

func (e *evictions) add(key Key, last floor) {
	if len(e.newer) >= e.most {
		if len(e.older) > 0 {
			maps.Copy(e.forgotten, e.resources)
		}
		e.newer, e.older = map[uint64]floor{}, e.newer
	}
	resource := [2]string{key.Group, key.Resource}
	e.newer[key.hash()] = last
	e.resources[resource] = e.resources[resource].max(last)
}

// find returns the last write of an object that had to go. Of a resource of which not all is remembered any object may
// have.
func (e *evictions) find(key Key) (last floor, evicted bool) {
	resource := [2]string{key.Group, key.Resource}
	if _, ok := e.resources[resource]; !ok {
		return floor{}, false
	}
	hash := key.hash()
	for _, generation := range []map[uint64]floor{e.newer, e.older} {
		if last, ok := generation[hash]; ok {
			return last, true
		}
	}
	last, evicted = e.forgotten[resource]
	return last, evicted
}

// hash is the same in every run: it is saved.
func (k Key) hash() uint64 {
	h := fnv.New64a()
	for _, part := range []string{k.Group, k.Resource, k.Namespace, k.Name} {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return h.Sum64()
}

// wasEvicted says whether an object had to go from the history.
func (h *History) wasEvicted(key Key) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	_, evicted := h.evicted.find(key)
	return evicted
}

// anyEvicted says whether some object of a resource had to go.
func (h *History) anyEvicted(group, resource string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	_, evicted := h.evicted.resources[[2]string{group, resource}]
	return evicted
}
