package ingest

const (
	// maxEnvelopes is how many envelopes may be around an event.
	maxEnvelopes = 8
	// maxDecompressed is how many bytes the compressed parts of one entry may come to, all together.
	maxDecompressed = 64 << 20
	// maxPieces is how many events and skips one entry may come to. A compressed entry of some kilobytes could hold
	// millions.
	maxPieces = 100_000
)

// decoder collects what is in one entry.
type decoder struct {
	at Position
	// room is how many bytes may still be decompressed.
	room   int64
	events []*Event
	skips  []Skip
}

// decode decodes what stood in depth envelopes.
func (d *decoder) decode(data []byte, depth int) {
	if d.full() {
		return
	}
	data = trimSpace(data)
	if len(data) == 0 {
		d.empty()
		return
	}
	ev, skip := decodeFirst(data, d.at)
	if ev != nil {
		d.events = append(d.events, ev)
		return
	}
	d.open(data, skip, depth)
}

// open decodes what is no single event. The skip says why it is none, if it was tried.
func (d *decoder) open(data []byte, skip *Skip, depth int) {
	before := d.pieces()
	switch {
	case depth > maxEnvelopes:
		d.skip(*skipped(TooDeep, d.at, "more than %d envelopes within one another", maxEnvelopes))
	case isGzip(data):
		d.decompress(data, depth)
	case d.prefixed(data, depth):
	case skip != nil && data[0] == '{' && !holdsList(data) && d.envelope(data, *skip, depth):
	default:
		d.elements(data, depth)
		if depth == 0 {
			return // an empty list is neither an event nor a skip
		}
	}
	if d.pieces() == before {
		d.empty()
	}
}

// elements decodes each of the values that data consists of, or that stand in its lists.
func (d *decoder) elements(data []byte, depth int) {
	u := newUnwrapper(wholeText(data, d.at), len(data))
	for !d.full() {
		e, err := u.next()
		if err != nil {
			return // io.EOF: memory has no other error
		}
		if e.Skip == nil {
			d.element(e.Data, depth)
			continue
		}
		e.Skip.At = d.at
		if u.ended {
			e.Skip = whyCut(data, e.Skip, depth)
		}
		d.skip(*e.Skip)
	}
}

// element decodes one value.
func (d *decoder) element(data []byte, depth int) {
	ev, skip := decodeEvent(data, d.at)
	switch {
	case ev != nil:
		d.events = append(d.events, ev)
	case skip != nil && !d.envelope(data, *skip, depth):
		d.skip(*skip)
	}
}

// empty reports an envelope that holds nothing, so that it does not pass in silence.
func (d *decoder) empty() { d.skip(*skipped(NotAnEvent, d.at, "an envelope with nothing in it")) }

func (d *decoder) skip(s Skip) { d.skips = append(d.skips, s) }

// pieces is how much has been found.
func (d *decoder) pieces() int { return len(d.events) + len(d.skips) }

// full tells that the entry has come to as many pieces as it may, and reports it once.
func (d *decoder) full() bool {
	if d.pieces() == maxPieces {
		d.skip(*skipped(TooLarge, d.at, "more than %d events and skips in one entry: the rest is passed over", maxPieces))
	}
	return d.pieces() > maxPieces
}
