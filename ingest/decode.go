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
// deep as may be. Whatever it finds is an event or a skip, and a bad element does not take the others with it. An empty
// entry and an empty list are neither.
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
	data := trimSpace(e.Data)
	if len(data) == 0 {
		return nil, nil
	}
	if !bytes.Contains(data[:min(len(data), listHint)], []byte(`"`+listKind+`"`)) {
		if ev, _ := decodeEvent(data, e.At); ev != nil {
			return []*Event{ev}, nil
		}
	}
	return decodeElements(data, e.At)
}

func decodeElements(data []byte, at Position) (events []*Event, skips []Skip) {
	u := newUnwrapper(wholeText(data, at), len(data))
	for {
		e, err := u.next()
		if err != nil {
			return events, skips // io.EOF: memory has no other error
		}
		if e.Skip != nil {
			e.Skip.At = at
			skips = append(skips, *e.Skip)
			continue
		}
		ev, skip := decodeEvent(e.Data, at)
		if skip != nil {
			skips = append(skips, *skip)
		}
		if ev != nil {
			events = append(events, ev)
		}
	}
}

// decodeEvent decodes one value, trimmed and not empty. The strict decoder comes first: it is fast, and nearly all
// events pass it. Both results are nil for an EventList without items.
func decodeEvent(data []byte, at Position) (*Event, *Skip) {
	ev := new(Event)
	if err := jsonv2.Unmarshal(data, ev); err != nil || data[0] != '{' {
		var skip *Skip
		if ev, skip = decodeApart(data, at); skip != nil {
			return nil, skip
		}
	}
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
	ev.RequestObject = body(ev.RequestObject)
	ev.ResponseObject = body(ev.ResponseObject)
	return ev, nil
}

// body makes no difference between a body that is null and none.
func body(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
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
