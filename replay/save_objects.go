package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
)

// savedObject is what is known of the objects of one name.
type savedObject struct {
	Group     string         `json:"group,omitempty"`
	Resource  string         `json:"resource"`
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name"`
	Used      bool           `json:"used,omitempty"`
	Versions  []savedVersion `json:"versions"`
}

// savedVersion is one write of an object. It has Content where the whole object is known, Event where it is made from the
// one before, neither where nothing is known.
type savedVersion struct {
	UID             string          `json:"uid,omitempty"`
	ResourceVersion uint64          `json:"resourceVersion,omitempty"`
	Content         json.RawMessage `json:"content,omitempty"`
	Event           json.RawMessage `json:"event,omitempty"`
	Unknown         []savedUnknown  `json:"unknown,omitempty"`
	Contested       bool            `json:"contested,omitempty"`
	Inferred        bool            `json:"inferred,omitempty"`
	Deleted         bool            `json:"deleted,omitempty"`
	From            time.Time       `json:"from,omitzero"`
	To              time.Time       `json:"to,omitzero"`
	Writer          string          `json:"writer,omitempty"`
}

type savedUnknown struct {
	Path    []string `json:"path"`
	Because Reason   `json:"because"`
}

// objects writes the objects, those that were written longest ago first.
func (s *saver) objects() {
	h := s.r.history
	h.mu.RLock()
	defer h.mu.RUnlock()
	var pins []*chain
	for _, c := range h.objects {
		if pinned[[2]string{c.key.Group, c.key.Resource}] {
			pins = append(pins, c)
		}
	}
	slices.SortFunc(pins, func(a, b *chain) int {
		x, y := a.key, b.key
		return slices.Compare([]string{x.Group, x.Resource, x.Namespace, x.Name}, []string{y.Group, y.Resource, y.Namespace, y.Name})
	})
	for _, c := range pins {
		s.object(c)
	}
	for c := h.lru.tail; c != nil; c = c.prev {
		s.object(c)
	}
}

func (s *saver) object(c *chain) {
	// That a namespace is gone is worth knowing for good: its absence is looked up.
	if v := c.versions[0]; len(c.versions) == 1 && v.deleted && v.to.Before(s.before) && c.key.Resource != "namespaces" {
		return
	}
	out := &savedObject{Group: c.key.Group, Resource: c.key.Resource, Namespace: c.key.Namespace, Name: c.key.Name, Used: c.used.Load()}
	for _, v := range c.versions {
		out.Versions = append(out.Versions, v.save())
	}
	s.line(savedLine{Object: out})
}

func (v *version) save() savedVersion {
	out := savedVersion{
		UID: v.uid, ResourceVersion: v.rv, Contested: v.contested, Inferred: v.inferred, Deleted: v.deleted, From: v.from, To: v.to, Writer: v.writer,
	}
	for _, u := range v.unknown {
		out.Unknown = append(out.Unknown, savedUnknown(u))
	}
	if v.object != nil {
		out.Content = v.object.text()
	}
	if v.event != nil {
		out.Event = unpackText(v.event)
	}
	return out
}

// restore makes the version again. resources are those of the time of its write.
func (v *savedVersion) restore(resources func(time.Time) *Resources) (*version, error) {
	out := &version{
		uid: v.UID, rv: v.ResourceVersion, contested: v.Contested, inferred: v.Inferred, deleted: v.Deleted, from: v.From, to: v.To, writer: v.Writer,
	}
	for _, u := range v.Unknown {
		if len(u.Path) == 0 {
			return nil, errors.New("a part that is not known has no path")
		}
		out.unknown = append(out.unknown, Unknown(u))
	}
	switch {
	case len(v.Content) > 0 && v.Content[0] == '{':
		out.object = packJSON(v.Content)
	case len(v.Content) > 0:
		return nil, errors.New("content is no object")
	case len(v.Event) > 0:
		ev := &ingest.Event{}
		if err := json.Unmarshal(v.Event, ev); err != nil {
			return nil, fmt.Errorf("reading an event: %w", err)
		}
		d := Decode(ev)
		if ev.ObjectRef == nil || d.Operation == "" {
			return nil, errors.New("an event is no admission request")
		}
		again := written(d, d.Operation, resources(ev.RequestReceivedTimestamp))
		if again == nil || again.derive == nil {
			return nil, errors.New("an event does not tell what it changed")
		}
		out.derive, out.inferred, out.event = again.derive, again.inferred, packText(v.Event)
	}
	return out, nil
}
