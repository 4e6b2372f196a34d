package ingest

import (
	"bytes"
	"sync"
)

// scanners are those that nobody uses.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// scanEvent reads an event that is written as apiservers write it, in whatever order of keys: fast, in one pass. It
// returns nil for anything else, which says nothing of whether it is an event: the strict decoder knows. What it
// returns is what that would.
func scanEvent(data []byte) (ev *Event) {
	s := scanners.Get().(*scanner)
	if s.scan(data) {
		ev = s.event()
	}
	s.data = nil // It is not ours.
	scanners.Put(s)
	return ev
}

// event makes the event of a text that was scanned and is not odd; nil where it turns out to be odd after all. It shares
// no memory with the text.
func (s *scanner) event() *Event {
	l := &s.layout
	m := maker{data: s.data}
	ev := &Event{
		Kind: m.word(l.kind), APIVersion: m.word(l.apiVersion), Level: m.word(l.level), AuditID: m.own(l.auditID),
		Stage: m.word(l.stage), Verb: m.word(l.verb), RequestURI: m.string(l.requestURI), UserAgent: m.string(l.userAgent),
		SourceIPs: m.list(l.sourceIPs), Annotations: m.texts(l.annotations),
		RequestReceivedTimestamp: l.received, StageTimestamp: l.staged,
		User: m.user(&l.user),
	}
	if l.impersonated.whole.there() {
		user := m.user(&l.impersonated)
		ev.ImpersonatedUser = &user
	}
	if l.ref.whole.there() {
		ev.ObjectRef = m.objectRef(&l.ref)
	}
	if st := &l.status; st.whole.there() {
		ev.ResponseStatus = &Status{Status: m.word(st.status), Message: m.string(st.message), Reason: m.word(st.reason), Code: st.code}
	}
	if l.requestObject.there() {
		ev.RequestObject = bytes.Clone(s.in(l.requestObject))
	}
	if l.responseObject.there() {
		ev.ResponseObject = bytes.Clone(s.in(l.responseObject))
	}
	if m.odd {
		return nil
	}
	return ev
}

// in is the text of a span.
func (s *scanner) in(of span) []byte { return s.data[of.from:of.to] }
