package ingest

import jsonv2 "github.com/go-json-experiment/json"

// ScanEvent is the fast reader by itself; nil where it leaves the text to the strict one.
func ScanEvent(data []byte) *Event { return scanEvent(data) }

// StrictEvent is the strict decoder by itself; nil where the text is no event that can be used.
func StrictEvent(data []byte) *Event {
	ev := new(Event)
	if err := jsonv2.Unmarshal(data, ev); err == nil && data[0] == '{' {
		return ev
	}
	ev, skip := decodeApart(data, Position{})
	if skip != nil {
		return nil
	}
	return ev
}

// PassValue is the length of the value that data begins with.
func PassValue(data []byte) (int, bool) { return passValue(data) }
