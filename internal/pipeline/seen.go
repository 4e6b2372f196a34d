package pipeline

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// seenAt is where an event was found.
type seenAt struct {
	partition ingest.Partition
	end       ingest.Mark
}

func (a seenAt) before(b seenAt) bool {
	if a.partition != b.partition {
		return a.partition.String() < b.partition.String()
	}
	return a.end.Compare(b.end) < 0
}

// seen remembers for a while where each event was found first, so that one that is delivered twice counts once: a
// shipper that gets no reply sends again. Of two places that are known before either is evaluated, the lesser counts,
// so that processes that read in another order agree.
type seen struct {
	places map[seenKey]seenPlace
	newest time.Time
	swept  time.Time
}

type seenPlace struct {
	at   seenAt
	when time.Time
	// used: the event has counted, and no other place can.
	used bool
}

// seenFor is how long, in the time of the log, an event is remembered.
const seenFor = 10 * time.Minute

func newSeen() *seen { return &seen{places: map[seenKey]seenPlace{}} }

// seenKey tells events apart. A client may choose its audit ID, and give several requests the same.
type seenKey [16]byte

func seenKeyOf(ev *ingest.Event) (key seenKey) {
	h := fnv.New128a()
	for _, part := range []string{ev.AuditID, ev.Stage, ev.Verb, ev.RequestURI} {
		_, _ = io.WriteString(h, part)
		_, _ = h.Write([]byte{0})
	}
	var times [2 * timeBytes]byte
	putTime(times[:timeBytes], ev.RequestReceivedTimestamp)
	putTime(times[timeBytes:], ev.StageTimestamp)
	_, _ = h.Write(times[:])
	h.Sum(key[:0])
	return key
}

const timeBytes = 12

func putTime(to []byte, t time.Time) {
	binary.BigEndian.PutUint64(to, uint64(t.Unix()))
	binary.BigEndian.PutUint32(to[8:], uint32(t.Nanosecond()))
}

// keyOf is the key of an event that is remembered; that of another is never asked for.
func keyOf(d *replay.Decoded) (key seenKey) {
	if remembered(d) {
		key = seenKeyOf(d.Event)
	}
	return key
}

// remembered says whether it is worth remembering an event: reads, which most of a log is, change nothing and are not
// evaluated.
func remembered(d *replay.Decoded) bool {
	return d.Operation != "" || d.NotAdmission == replay.Excluded || d.NotAdmission == replay.Refused
}

// add notes where an event of some stageTimestamp stands, and says whether it stands at another place too.
func (s *seen) add(key seenKey, when time.Time, at seenAt) (again bool) {
	old, known := s.places[key]
	if !known || !old.used && at.before(old.at) {
		s.places[key] = seenPlace{at: at, when: when}
	}
	if when.After(s.newest) {
		s.newest = when
	}
	if s.newest.Sub(s.swept) > seenFor {
		for key, place := range s.places {
			if s.newest.Sub(place.when) > seenFor {
				delete(s.places, key)
			}
		}
		s.swept = s.newest
	}
	return known && old.at != at
}

// earlier says whether an event counts at another place than this; if it does not, it counts here.
func (s *seen) earlier(key seenKey, when time.Time, at seenAt) bool {
	place, known := s.places[key]
	if known && place.at != at {
		return true
	}
	s.places[key] = seenPlace{at: at, when: when, used: true}
	return false
}

// savedSeen is a seenPlace in a checkpoint.
type savedSeen struct {
	Key        seenKey   `json:"k"`
	Source     string    `json:"s"`
	Partition  string    `json:"p"`
	Generation int64     `json:"g,omitempty"`
	Offset     int64     `json:"o,omitempty"`
	Detail     string    `json:"d,omitempty"`
	When       time.Time `json:"t"`
}

func (s *seen) save() []savedSeen {
	out := make([]savedSeen, 0, len(s.places))
	for key, p := range s.places {
		out = append(out, savedSeen{
			Key: key, Source: p.at.partition.Source, Partition: p.at.partition.Name,
			Generation: p.at.end.Generation, Offset: p.at.end.Offset, Detail: p.at.end.Detail, When: p.when,
		})
	}
	return out
}

// restore takes in what was saved. Whether an event has counted is not saved: it counts at its place, or has.
func (s *seen) restore(saved []savedSeen) {
	for _, p := range saved {
		at := seenAt{
			partition: ingest.Partition{Source: p.Source, Name: p.Partition},
			end:       ingest.Mark{Generation: p.Generation, Offset: p.Offset, Detail: p.Detail},
		}
		s.places[p.Key] = seenPlace{at: at, when: p.When, used: true}
		if p.When.After(s.newest) {
			s.newest = p.When
		}
	}
}
