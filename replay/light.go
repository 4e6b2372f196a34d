package replay

import (
	"bytes"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
)

// DecodeLight decodes as Decode does, but leaves the bodies of a write alone where nothing is kept of its object and
// Observe needs none of them. Requests decodes them, if it is called.
func (r *Replayer) DecodeLight(ev *ingest.Event) *Decoded {
	d := &Decoded{Event: ev}
	d.Operation, d.NotAdmission = classify(ev)
	receivedAtLeast(ev, d.Operation)
	d.light = r.isLight(d)
	if d.late = d.light && !r.history.learns(ev.StageTimestamp); !d.late {
		d.decodeBodies()
	}
	return d
}

// Light says whether DecodeLight decoded an event, and Requests would look up no object but the event's own: so it makes
// no difference to anything else whether Requests is called.
func (d *Decoded) Light() bool { return d.light }

// isLight says whether Observe takes in no more of a write than that there was one: nothing is kept of its object, and
// its outline and the beginning of its response tell what Observe would find out from its bodies. That hangs on the event
// alone, and not on what was observed so far. Owners that are looked up are not forgotten as soon as others.
func (r *Replayer) isLight(d *Decoded) bool {
	ev, ref := d.Event, d.Event.ObjectRef
	if d.Operation != Create && d.Operation != Update || ref.Name == "" {
		return false
	}
	switch ref.Subresource {
	case "token", "scale", "binding", "eviction":
		return false
	}
	if absent(ev, ingest.AbsentQuery) || strings.Contains(ev.RequestURI, "dryRun") || !beginsAsObject(ev.ResponseObject) {
		return false
	}
	if _, keep := r.keptAs(keyOf(ref.APIGroup, ref.Resource, ref.Namespace, ref.Name)); keep {
		return false
	}
	for kind := range ownerResources {
		if bytes.Contains(ev.ResponseObject, []byte(`"`+kind+`"`)) {
			return false
		}
	}
	return true
}

// beginsAsObject says whether a body that an apiserver wrote shows an object and not a Status, a Table or metadata alone.
func beginsAsObject(body []byte) bool {
	rest, ok := bytes.CutPrefix(body, []byte(`{"kind":"`))
	kind, rest, quoted := bytes.Cut(rest, []byte(`"`))
	version, isNext := bytes.CutPrefix(rest, []byte(`,"apiVersion":"`))
	return ok && quoted && isNext && len(kind) > 0 && string(kind) != "Status" && !bytes.HasPrefix(version, []byte("meta.k8s.io/"))
}

// observeLight takes in a write of which nothing is kept. It is not ok where its bodies are needed after all.
func (r *Replayer) observeLight(ev *ingest.Event) (ok bool) {
	if !succeeded(ev) {
		return true
	}
	if r.history.watch.any.Load() || r.history.learns(ev.StageTimestamp) {
		return false
	}
	r.seen(ev.StageTimestamp)
	return true
}

// learns says whether it may tell something new that the log shows a resourceVersion that was given out before a moment.
func (h *History) learns(before time.Time) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.watch.loose) > 0 || h.after.IsZero() || before.Before(h.after)
}
