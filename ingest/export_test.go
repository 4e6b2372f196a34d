package ingest

// ScanEvent is what is made of text by the fast reader; read is false where that leaves it to the strict decoder.
func ScanEvent(data []byte) (ev *Event, skip *Skip, read bool) {
	if ev = scanEvent(data); ev == nil {
		return nil, nil, false
	}
	ev, skip = ev.checked(data, Position{})
	return ev, skip, true
}

// StrictEvent is what is made of text by the strict decoder.
func StrictEvent(data []byte) (*Event, *Skip) { return decodeStrictly(data, Position{}) }

// PassValue is the length of the value that data begins with.
func PassValue(data []byte) (int, bool) { return passValue(data) }
