package pipeline

import (
	"time"

	"github.com/vapshadow/vapshadow/ingest"
)

// becausePerhapsRetried: another request wrote the object meanwhile, or just before. An apiserver begins with the state
// in its cache, and where that turns out to be old, begins again and evaluates the policies once more. The event keeps
// what the first try had annotated, and nothing in it tells that there was one.
const becausePerhapsRetried = "PerhapsRetried"

// cacheLag is how long after a write an apiserver's cache may still hold the state before it.
const cacheLag = 50 * time.Millisecond

// A request takes no longer than this; at every so many objects, older writes are forgotten.
const (
	longestRequest = time.Minute
	manyWrites     = 100_000
)

// writes remembers when objects were last written.
type writes struct {
	last   map[object]time.Time
	newest time.Time
}

type object struct{ group, resource, namespace, name string }

func objectOf(ev *ingest.Event) (object, bool) {
	ref := ev.ObjectRef
	if ref == nil || ref.Name == "" {
		return object{}, false
	}
	return object{ref.APIGroup, ref.Resource, ref.Namespace, ref.Name}, true
}

// add remembers a request that may have written.
func (w *writes) add(ev *ingest.Event) {
	o, ok := objectOf(ev)
	if !ok || ev.Verb == "get" || ev.Verb == "list" || ev.Verb == "watch" || ev.ResponseStatus == nil || ev.ResponseStatus.Code >= 300 {
		return
	}
	_, known := w.last[o]
	w.last[o] = ev.StageTimestamp
	if ev.StageTimestamp.After(w.newest) {
		w.newest = ev.StageTimestamp
	}
	if known || len(w.last)%manyWrites != 0 {
		return
	}
	for o, at := range w.last {
		if w.newest.Sub(at) > longestRequest {
			delete(w.last, o)
		}
	}
}

// overlap says whether another request wrote the object of this one while it was under way, or too shortly before for the
// cache to show it.
func (w *writes) overlap(ev *ingest.Event) bool {
	o, ok := objectOf(ev)
	if !ok || ev.Verb == "create" {
		return false
	}
	at, ok := w.last[o]
	return ok && !at.Before(ev.RequestReceivedTimestamp.Add(-cacheLag))
}
