package replay

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// version is one write of an object: what it left behind, and when it took effect.
type version struct {
	uid string
	// rv is the resourceVersion that the write gave the object; 0 where the log does not show it.
	rv uint64
	// content is the whole object, in the version of the API that it was logged in, until the History packs it into
	// object. raw is its JSON, where that is at hand.
	content map[string]any
	raw     []byte
	object  *packed
	// derive makes the object from the one before, which may be Missing: a write of which only a part was logged.
	derive func(before Object) Object
	// inferred: the log does not show what the write left behind, but what was asked for.
	inferred bool
	// event is what derive was made of, as compressed JSON.
	event []byte
	// unknown are the parts of the content that are not known.
	unknown []Unknown
	// contested: another request at the same time shows the same resourceVersion. One of the two wrote it, the other
	// changed nothing, and which is which is not known.
	contested bool
	// deleted: the object was gone afterwards.
	deleted bool
	// watched: it was seen in the cluster, and the log has not shown the write so far.
	watched bool
	// from and to bound the moment of the write; both are zero for the snapshot.
	from, to time.Time
	// writer is the auditID of the request that wrote; empty for the snapshot.
	writer string
	// bytes is about what the version holds on to, its unpacked object left aside.
	bytes int64
}

// opaque says whether nothing is known of what the write left behind.
func (v *version) opaque() bool {
	return v.content == nil && v.object == nil && v.derive == nil && !v.deleted
}

// chain is the versions of one name in the order of their resourceVersions; writes without one stand by time.
type chain struct {
	key      Key
	unpacker *unpacker
	history  *History
	versions []*version
	bytes    int64
	// floor is the last write that had to go with an earlier chain of the object.
	floor floor
	// used says that the chain was looked at since it was last spared.
	used atomic.Bool
	// restored says that a restored history told of the object.
	restored   bool
	prev, next *chain
}

// insert puts a version in its place and says whether it was new. A write that changed nothing shows the
// resourceVersion that the object already had: it is no version of its own.
func (c *chain) insert(v *version) bool {
	if have := c.gone(v); have != nil {
		if have.watched {
			have.watched, have.writer, have.from, have.to = false, v.writer, v.from, v.to
		}
		return false
	}
	if v.rv != 0 {
		for _, have := range c.versions {
			if have.rv == v.rv && have.uid == v.uid && have.deleted == v.deleted {
				switch {
				case v.watched:
				case have.watched:
					// The log tells better when: by its end, the resourceVersion was given out.
					have.watched, have.writer = false, v.writer
					have.prove(v.to)
				case v.to.Before(have.from):
					have.from, have.to, have.writer = v.from, v.to, v.writer
				case have.writer != v.writer && have.overlaps(v) && !have.from.IsZero():
					// Whichever of the two wrote, it was done between the begin of one and the end of the other.
					have.contested = true
					if v.from.Before(have.from) {
						have.from = v.from
					}
					if v.to.After(have.to) {
						have.to = v.to
					}
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

// state is what a version of an object was.
type state struct {
	Object
	rv      string
	uid     string
	deleted bool
	// inferred: the log does not show what a write left behind, here or earlier, but what was asked for.
	inferred bool
}

// derived makes of a change to an object's content what version.derive is: unknown are the parts that the write leaves
// open.
func derived(change func(before map[string]any) map[string]any, unknown ...Unknown) func(Object) Object {
	return func(before Object) Object {
		if before.Level == Missing {
			return missing(WritesMissed)
		}
		content := change(before.Content)
		open := append(slices.Clone(before.Unknown), unknown...)
		if len(managedFields(before.Content)) == 0 {
			open = append(open, managedFields(content)...)
		}
		return Object{Evidence: Evidence{Level: Presumed}, Content: content, Unknown: open}
	}
}

// resolve builds the content of the version at index i.
func (c *chain) resolve(i int) state {
	v := c.versions[i]
	s := state{uid: v.uid, deleted: v.deleted, inferred: v.inferred}
	if v.rv != 0 {
		s.rv = strconv.FormatUint(v.rv, 10)
	}
	switch {
	case v.derive != nil && v.inferred && c.snapshotMayFollow(i):
		s.Object = missing(NoHistory)
	case v.derive != nil:
		before, ok := c.predecessor(i)
		if !ok || before.deleted {
			before = state{Object: missing(WritesMissed)}
		}
		if s.uid == "" {
			s.uid = before.uid
		}
		s.Object, s.inferred = v.derive(before.Object), v.inferred || before.inferred
	case v.object != nil:
		content := c.unpacker.unpack(v.object)
		s.Object = Object{Evidence: Evidence{Level: Presumed}, Content: content, Unknown: append(slices.Clip(v.unknown), managedFields(content)...)}
	default:
		s.Object = missing(WritesMissed)
	}
	return s
}

// snapshotMayFollow says whether the snapshot may show the object as it was after the version at i, which is taken to
// be later as it shows no resourceVersion.
func (c *chain) snapshotMayFollow(i int) bool {
	shown := slices.ContainsFunc(c.versions[:i], func(w *version) bool { return w.from.IsZero() })
	return shown && c.versions[i].rv == 0 && !c.history.snapshotBefore(c.versions[i].from)
}

// predecessor is the state that the version at i was made from.
func (c *chain) predecessor(i int) (state, bool) {
	v := c.versions[i]
	j := i - 1
	for j >= 0 && c.versions[j].opaque() {
		j--
	}
	if j >= 0 && (c.misplaced(i, v.writer) || c.misplaced(j, v.writer)) {
		return state{Object: missing(WritesMissed)}, true
	}
	if j < 0 || c.versions[j].deleted || v.uid != "" && c.versions[j].uid != "" && c.versions[j].uid != v.uid {
		return state{}, false
	}
	if c.floor.hides(c.versions[j]) {
		return state{Object: missing(Evicted)}, true
	}
	// A write with nothing to show may have come in between.
	for _, o := range c.versions {
		if o.opaque() && !o.to.Before(c.versions[j].from) && !o.from.After(v.to) && o.writer != v.writer {
			return state{Object: missing(WritesMissed)}, true
		}
	}
	return c.resolve(j), true
}

// misplaced says whether another write, that shows something of the object, was under way together with that of the
// version at i, and one of the two shows no resourceVersion: which of them came later is not known. The writer of the
// state that is looked for does not count.
func (c *chain) misplaced(i int, writer string) bool {
	for j, w := range c.versions {
		if j != i && (w.rv == 0 || c.versions[i].rv == 0) && c.doubtful(i, j) && !w.opaque() && !w.deleted && w.writer != writer {
			return true
		}
	}
	return false
}

func (v *version) overlaps(w *version) bool { return !v.to.Before(w.from) && !w.to.Before(v.from) }

// unordered says whether another write was under way together with that of the version at i, and the log does not show
// its resourceVersion: which of the two came later is not known.
func (c *chain) unordered(i int) bool {
	for j, w := range c.versions {
		if j != i && (w.rv == 0 || c.versions[i].rv == 0) && c.doubtful(i, j) {
			return true
		}
	}
	return false
}

// doubtful says whether the versions at i and j may have been written in the other order, as far as time tells.
func (c *chain) doubtful(i, j int) bool {
	first, second := c.versions[min(i, j)], c.versions[max(i, j)]
	return !first.to.Before(second.from)
}

// maybeMadeBy says whether a request received at `from` may have left behind what the snapshot shows. A deletion leaves
// nothing, or an object that is marked; an object that was made in or after the same second may be another.
func (c *chain) maybeMadeBy(v *version, wrote Operation, from time.Time) bool {
	if wrote != Delete {
		return wrote != ""
	}
	var metadata map[string]any
	if v.object != nil {
		metadata = metadataOf(c.unpacker.unpack(v.object))
	}
	made, err := time.Parse(time.RFC3339, stringAt(metadata, "creationTimestamp"))
	return err != nil || metadata["deletionTimestamp"] != nil || !made.Before(from.Truncate(time.Second))
}
