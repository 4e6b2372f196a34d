package ingest

import "time"

// Outline is what an event is about, as far as its text says it without escapes. The texts are the entry's own.
type Outline struct {
	AuditID, Stage, Verb            []byte
	APIGroup, Resource, Subresource []byte
	StageTimestamp                  time.Time
}

// Outliner decodes entries for one who is done with many an event once it is known what it is about. It belongs to one
// goroutine.
type Outliner struct {
	// Told is shown the outline of an event, which changes with the next: true says that no more of the event is wanted.
	// Not all events are shown to it.
	Told func(*Outline) bool

	scanner scanner
	outline Outline
}

// Decode decodes as the function Decode does, but leaves out the events that Told was told of. They are checked all the
// same: what is an event and what is skipped hangs on nothing that Told says.
func (o *Outliner) Decode(e Entry) ([]*Event, []Skip) {
	if e.Skip != nil {
		return nil, []Skip{*e.Skip}
	}
	data := trimSpace(e.Data)
	if !o.scanner.scan(data) {
		return decodeOdd(data, e.At)
	}
	if o.scanner.outline(&o.outline) && o.Told(&o.outline) {
		return nil, nil
	}
	if ev := o.scanner.event(); ev != nil {
		if ev, skip := ev.checked(data, e.At); skip == nil && ev != nil {
			return []*Event{ev}, nil
		}
	}
	return decodeOdd(data, e.At)
}

// outline is that of the text that was scanned. It is not ok where that may be no event, or is the last of a request
// that may have changed something.
func (s *scanner) outline(into *Outline) (ok bool) {
	l := &s.layout
	kind, version, stage, verb := s.in(l.kind), s.in(l.apiVersion), s.in(l.stage), s.in(l.verb)
	isEvent := string(kind) == eventKind && string(version) == supportedVersion || len(kind)+len(version) == 0 && len(stage) > 0
	if !isEvent || l.auditID.from == l.auditID.to || isLast(stage) && changes(verb) {
		return false
	}
	if l.auditID.escaped || l.ref.apiGroup.escaped || l.ref.resource.escaped {
		return false
	}
	*into = Outline{
		AuditID: s.in(l.auditID), Stage: stage, Verb: verb,
		APIGroup: s.in(l.ref.apiGroup), Resource: s.in(l.ref.resource), Subresource: s.in(l.ref.subresource),
		StageTimestamp: l.staged,
	}
	return true
}

func isLast(stage []byte) bool {
	return string(stage) == StageResponseComplete || string(stage) == StagePanic
}

func changes(verb []byte) bool {
	switch string(verb) {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}
