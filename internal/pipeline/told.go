package pipeline

import (
	"time"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// told is an event that is no admission request and leaves nothing behind, as most of a log is. It is only counted.
type told struct {
	at      time.Time // its stageTimestamp
	because replay.NotAdmission
	// ordinal is that of its entry, where entries have one.
	ordinal int64
}

// outlines decodes entries, and makes no more of the events that are told by their outline. It belongs to one goroutine.
type outlines struct {
	outliner ingest.Outliner
	told     []told
}

// newOutlines makes room for as many as may be told.
func newOutlines(most int) *outlines {
	o := &outlines{told: make([]told, 0, most)}
	o.outliner.Told = func(outline *ingest.Outline) bool {
		because, enough := replay.ToldByOutline(outline)
		if enough {
			o.told = append(o.told, told{at: outline.StageTimestamp, because: because})
		}
		return enough
	}
	return o
}

// decode decodes an entry. Those of its events that are told are added to the others.
func (o *outlines) decode(entry ingest.Entry, ordinal int64) ([]*ingest.Event, []ingest.Skip) {
	before := len(o.told)
	events, skips := o.outliner.Decode(entry)
	for i := range o.told[before:] {
		o.told[before+i].ordinal = ordinal
	}
	return events, skips
}
