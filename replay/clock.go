package replay

import (
	"math"
	"sort"
	"time"
)

// clock relates time and resourceVersions, which grow with every write in the cluster: it knows, of each moment, the
// least resourceVersion that a write begun later was given. A snapshot that shows a greater one shows a later state.
type clock struct {
	// marks are ordered by time, and by resourceVersion too: a mark with a greater resourceVersion than a later one says
	// nothing that the later one does not.
	marks []mark
}

type mark struct {
	begun time.Time
	rv    uint64
}

// clockMarks bounds the marks that are kept; the oldest go first.
const clockMarks = 1 << 16

func (c *clock) add(begun time.Time, rv uint64) {
	at := sort.Search(len(c.marks), func(i int) bool { return c.marks[i].begun.After(begun) })
	if at < len(c.marks) && c.marks[at].rv <= rv {
		return
	}
	first := at
	for first > 0 && c.marks[first-1].rv >= rv {
		first--
	}
	c.marks = append(c.marks[:first], append([]mark{{begun, rv}}, c.marks[at:]...)...)
	if len(c.marks) > clockMarks {
		c.marks = append([]mark(nil), c.marks[clockMarks/2:]...)
	}
}

// leastAfter is the least resourceVersion of the writes that began after a moment.
func (c *clock) leastAfter(t time.Time) uint64 {
	at := sort.Search(len(c.marks), func(i int) bool { return c.marks[i].begun.After(t) })
	if at == len(c.marks) {
		return math.MaxUint64
	}
	return c.marks[at].rv
}
