package ingest

import (
	"bytes"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// listHint is how far into an object its kind usually stands. It decides which way is tried first, nothing else.
const listHint = 256

// Decode returns the events of an entry: one Event, those of an EventList, or those of an array of either, nested as
// deep as may be. The envelopes of log shippers and clouds are recognised by what is in them and taken off; they are
// listed in docs/sources.md. Whatever it finds is an event or a skip, and a bad element does not take the others with
// it. An empty entry and an empty list are neither.
//
// An object without kind and apiVersion is an Event if it has a stage: the items of an EventList are written like
// this. A timestamp that is absent is the zero time.
//
// The requestObject and the responseObject are checked to be JSON and no more: a patch is logged in the client's own
// bytes, so they may hold a key twice, or strings that are no Unicode. An apiserver reads such a body with the last
// value of a key, and U+FFFD for what is no Unicode. Leaving the event out would let a client choose what is not looked
// at.
//
// The events share no memory with the entry.
func Decode(e Entry) ([]*Event, []Skip) {
	if e.Skip != nil {
		return nil, []Skip{*e.Skip}
	}
	return decodeOdd(trimSpace(e.Data), e.At)
}

// decodeOdd decodes text of which nothing is known.
func decodeOdd(data []byte, at Position) ([]*Event, []Skip) {
	if len(data) == 0 {
		return nil, nil
	}
	ev, skip := decodeFirst(data, at)
	if ev != nil {
		return []*Event{ev}, nil
	}
	d := &decoder{at: at, room: maxDecompressed}
	d.open(data, skip, 0)
	return d.events, d.skips
}

// decodeFirst tries data as one event. Both results are nil where it looks like a list.
func decodeFirst(data []byte, at Position) (*Event, *Skip) {
	if bytes.Contains(data[:min(len(data), listHint)], []byte(`"`+listKind+`"`)) {
		return nil, nil
	}
	return decodeEvent(data, at)
}

// decodeEvent decodes one value, trimmed and not empty. The fast reader comes first, as nearly all
// events are written as it wants them, then the strict decoder. Both results are nil for an EventList without items.
func decodeEvent(data []byte, at Position) (*Event, *Skip) {
	if ev := scanEvent(data); ev != nil {
		return ev.checked(data, at)
	}
	return decodeStrictly(data, at)
}

func decodeStrictly(data []byte, at Position) (*Event, *Skip) {
	ev := new(Event)
	if err := jsonv2.Unmarshal(data, ev); err != nil || data[0] != '{' {
		var skip *Skip
		if ev, skip = decodeApart(data, at); skip != nil {
			return nil, skip
		}
	}
	return ev.checked(data, at)
}

// checked is the event made ready for use, or why it is none.
func (ev *Event) checked(data []byte, at Position) (*Event, *Skip) {
	meta := typeMeta{Kind: ev.Kind, APIVersion: ev.APIVersion}
	switch {
	case meta.isList():
		return nil, refuseItems(data, at)
	case meta == typeMeta{} && ev.Stage != "":
		ev.Kind, ev.APIVersion = eventKind, supportedVersion
	case !meta.isEvent():
		return nil, meta.refuse(at)
	}
	if ev.AuditID == "" {
		return nil, skipped(NoAuditID, at, "an event without auditID, at stage %q", shorten(ev.Stage))
	}
	ev.At = at
	ev.takeBodies()
	ev.restoreDots()
	if !isLevel(ev.Level) {
		ev.Level = movedLevel(data, ev.Level)
	}
	return ev, nil
}

// takeBodies makes no difference between a body that is null and none, and takes off what a shipper has put in place
// of a body.
func (ev *Event) takeBodies() {
	ev.RequestObject = ev.body(requestObject, ev.RequestObject)
	ev.ResponseObject = ev.body(responseObject, ev.ResponseObject)
}

func (ev *Event) body(name string, raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil
	case raw[0] == '"' && isPlaceholder(raw):
		ev.lose(name)
		return nil
	default:
		return raw
	}
}

// refuseItems reports an EventList that the unwrapper did not open, unless it has no items at all.
func refuseItems(data []byte, at Position) *Skip {
	var list struct {
		Items jsontext.Value `json:"items"`
	}
	if err := jsonv2.Unmarshal(data, &list); err == nil && (len(list.Items) == 0 || string(list.Items) == "null") {
		return nil
	}
	return skipped(NotAnEvent, at, "an EventList whose items are no array")
}
