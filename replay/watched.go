package replay

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Seen is a state of an object that somebody saw in the cluster, and not in the log.
type Seen struct {
	APIVersion, Kind string
	// Content is the object as the apiserver gave it; of a deleted one its last state, with the resourceVersion of the
	// deletion.
	Content map[string]any
	Deleted bool
	// By is a moment, by the apiserver's clock, at which the object was surely in that state. What clocks may differ by
	// has to be added.
	By time.Time
}

// Watched takes in a state that was seen in the cluster. When it was written is known within bounds only: not before
// the times that the object itself tells of, and not after By, nor after a write of the log that was given a greater
// resourceVersion. Requests within these bounds saw it or the state before, and what differs is not known to them. Where
// the log shows the same write, the log counts.
//
// It may be called while events are observed.
func (r *Replayer) Watched(s Seen) error {
	gvr, namespaced, ok := r.latestResources().Resource(schema.FromAPIVersionAndKind(s.APIVersion, s.Kind))
	if !ok {
		return ErrUnknownKind
	}
	metadata := metadataOf(s.Content)
	v := &version{uid: stringAt(metadata, "uid"), rv: revision(s.Content), watched: true, deleted: s.Deleted, from: writtenSince(s), to: s.By}
	if v.uid == "" || v.rv == 0 {
		return fmt.Errorf("a %s without uid or resourceVersion: %w", s.Kind, errNotRead)
	}
	if !s.Deleted {
		v.content = s.Content
	}
	k := keyOf(gvr.Group, gvr.Resource, "", stringAt(metadata, "name"))
	if namespaced {
		k.Namespace = stringAt(metadata, "namespace")
	}
	r.record(k, v)
	return nil
}

var errNotRead = errors.New("it was not read from an apiserver")

// ResourceOf is the resource of a kind, as the cluster is known at last.
func (r *Replayer) ResourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	gvr, _, ok := r.latestResources().Resource(kind)
	return gvr, ok
}

// latestResources are those of the newest state of the cluster.
func (r *Replayer) latestResources() *Resources {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.resources[len(r.resources)-1].Resources
}

// writtenSince is the latest moment that an object tells of: it was written then, or later. They are cut to seconds. A
// deletion is not before the moment that it was asked for.
func writtenSince(s Seen) time.Time {
	metadata := metadataOf(s.Content)
	stamps := []string{stringAt(metadata, "creationTimestamp")}
	fields, _ := metadata["managedFields"].([]any)
	for _, f := range fields {
		entry, _ := f.(map[string]any)
		stamps = append(stamps, stringAt(entry, "time"))
	}
	var latest time.Time
	for _, stamp := range stamps {
		if at, err := time.Parse(time.RFC3339, stamp); err == nil && at.After(latest) {
			latest = at
		}
	}
	if latest.IsZero() || latest.After(s.By) {
		return time.Unix(0, 0).UTC() // A zero time stands for the snapshot.
	}
	return latest
}

// WatchedSince says that from a moment on all objects of a resource are told to Watched, those that were there before
// it too: what is not known by then is not there. Before it, absence says nothing.
func (r *Replayer) WatchedSince(resource schema.GroupResource, since time.Time) {
	if r.keeps(resource.Group, resource.Resource) {
		r.history.watchedSince([2]string{resource.Group, resource.Resource}, since)
	}
}

// Unwatched says that objects of a resource are not told to Watched from a moment on, until WatchedSince or Rewatched
// says that they are again: later states are Missing, because of NotWatched.
func (r *Replayer) Unwatched(resource schema.GroupResource, from time.Time) {
	r.history.watchUntil([2]string{resource.Group, resource.Resource}, from)
}

// Rewatched says that all changes since Unwatched have been told to Watched after all, or will be.
func (r *Replayer) Rewatched(resource schema.GroupResource) {
	r.history.watchUntil([2]string{resource.Group, resource.Resource}, time.Time{})
}

// watches is what a History knows by being told by a watch. The History's lock is its own.
type watches struct {
	// loose are the versions whose time is not bounded by the log so far, in the order of their resourceVersions.
	loose []*version
	any   atomic.Bool
	// since is when the lists of resources were complete, until from when on they no longer are.
	since, until map[[2]string]time.Time
}

// mostLoose bounds the versions that wait for the log; of the oldest the bounds stay wide.
const mostLoose = 1 << 16

func (w *watches) add(v *version) {
	at, _ := slices.BinarySearchFunc(w.loose, v.rv, func(v *version, rv uint64) int {
		if v.rv < rv {
			return -1
		}
		return 1
	})
	w.loose = slices.Insert(w.loose, at, v)
	if len(w.loose) > mostLoose {
		w.loose = slices.Delete(w.loose, 0, mostLoose/2)
	}
	w.any.Store(true)
}

// prove takes in that a resourceVersion was given out by a moment, and so were all that are less.
func (w *watches) prove(rv uint64, by time.Time) {
	n := 0
	for n < len(w.loose) && w.loose[n].rv <= rv {
		w.loose[n].prove(by)
		n++
	}
	w.loose = slices.Delete(w.loose, 0, n)
}

// prove takes in that a version was written by a moment.
func (v *version) prove(by time.Time) {
	if by.Before(v.to) {
		v.to = by
	}
	if v.from.After(v.to) {
		v.from = v.to
	}
}

// proved takes in that the log shows a resourceVersion, of an object that is not kept.
func (h *History) proved(rv uint64, by time.Time) {
	if rv == 0 || !h.watch.any.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watch.prove(rv, by)
}

func (h *History) watchedSince(resource [2]string, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watch.since == nil {
		h.watch.since, h.watch.until = map[[2]string]time.Time{}, map[[2]string]time.Time{}
	}
	if !h.listed[resource] || !h.watch.until[resource].IsZero() {
		h.watch.since[resource] = since
	}
	delete(h.watch.until, resource)
	h.listed[resource] = true
}

func (h *History) watchUntil(resource [2]string, from time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if from.IsZero() {
		delete(h.watch.until, resource)
		return
	}
	if h.watch.until == nil {
		h.watch.since, h.watch.until = map[[2]string]time.Time{}, map[[2]string]time.Time{}
	}
	if before, ok := h.watch.until[resource]; !ok || from.Before(before) {
		h.watch.until[resource] = from
	}
}

// rbacUnwatched says whether the watch of some kind of RBAC was interrupted before a moment.
func (h *History) rbacUnwatched(to time.Time) bool {
	for resource := range rbacKinds {
		if h.unwatched(rbacGroup, resource, to, to, true) {
			return true
		}
	}
	return false
}

// unwatched says whether a watch says nothing of a resource between two moments: it was interrupted, or, where the
// object was never seen, had not begun.
func (h *History) unwatched(group, resource string, from, to time.Time, found bool) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	name := [2]string{group, resource}
	if until, ok := h.watch.until[name]; ok && to.After(until) {
		return true
	}
	return !found && from.Before(h.watch.since[name])
}

// gone finds the deletion that a version tells of too, where the log and a watch show the same: the log shows no
// resourceVersion of it.
func (c *chain) gone(v *version) *version {
	if !v.deleted || v.uid == "" {
		return nil
	}
	for _, have := range c.versions {
		if have.deleted && have.uid == v.uid && have.watched != v.watched && (have.rv == 0 || v.rv == 0) {
			return have
		}
	}
	return nil
}
