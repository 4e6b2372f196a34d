package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/vapshadow/vapshadow/ingest"
)

var (
	// errFull says that too many bytes are under way.
	errFull = errors.New("too much is under way")
	// errClosing says that the source ends.
	errClosing = errors.New("shutting down")
)

// call is a body on its way to the store.
type call struct {
	cluster, delivery string
	body              []byte
	// done is closed when err, the outcome, is known.
	done chan struct{}
	err  error
}

// queue holds the calls under way, and the room that they take. Its methods may be called by several goroutines.
type queue struct {
	max int64

	mu sync.Mutex
	// room is taken by bodies that are being read and by calls.
	taken   int64
	calls   map[string]*call // by delivery
	waiting []*call          // those that are not taken by the stream yet
	arrived chan struct{}    // has one element while there may be some waiting
	joined  int64
	closing bool
}

func newQueue(max int64) *queue {
	return &queue{max: max, calls: make(map[string]*call), arrived: make(chan struct{}, 1)}
}

// take takes room for n bytes, or none of it.
func (q *queue) take(n int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closing:
		return errClosing
	case q.taken+n > q.max:
		return errFull
	}
	q.taken += n
	return nil
}

func (q *queue) release(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken -= n
}

// deliveryOf names a body by its content: an apiserver that tries again sends the same bytes.
func deliveryOf(cluster string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(cluster))
	h.Write([]byte{0})
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// add puts a body on its way. It takes over the room that the body has. The same body again joins the one under way.
func (q *queue) add(cluster string, body []byte, room int64) (*call, error) {
	delivery := deliveryOf(cluster, body)
	q.mu.Lock()
	defer q.mu.Unlock()
	if c, ok := q.calls[delivery]; ok {
		q.taken -= room
		q.joined++
		return c, nil
	}
	if q.closing {
		q.taken -= room
		return nil, errClosing
	}
	q.taken -= room - int64(len(body))
	c := &call{cluster: cluster, delivery: delivery, body: body, done: make(chan struct{})}
	q.calls[delivery] = c
	q.waiting = append(q.waiting, c)
	q.signal()
	return c, nil
}

func (q *queue) signal() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// next takes the call that has waited longest, and says how many wait behind it. The call is nil where none waits.
func (q *queue) next() (c *call, behind int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil, 0
	}
	c, q.waiting = q.waiting[0], q.waiting[1:]
	if len(q.waiting) > 0 {
		q.signal()
	}
	return c, len(q.waiting)
}

// finish ends a call with its outcome. Only the first outcome counts.
func (q *queue) finish(c *call, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settle(c, err)
}

func (q *queue) settle(c *call, err error) {
	if q.calls[c.delivery] != c {
		return
	}
	delete(q.calls, c.delivery)
	q.taken -= int64(len(c.body))
	c.body, c.err = nil, err
	close(c.done)
}

// close refuses what comes, and what no stream has taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closing = true
	for _, c := range q.waiting {
		q.settle(c, errClosing)
	}
	q.waiting = nil
}

func (q *queue) stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{Joined: q.joined, Queued: len(q.waiting), InFlight: len(q.calls), InFlightBytes: q.taken}
}

// chunk is what the pipeline gets of a call.
func (q *queue) chunk(c *call, behind int) ingest.Chunk {
	at := ingest.Position{Source: Partition + "/" + c.cluster}
	return ingest.Chunk{
		Entries:  []ingest.Entry{{Data: c.body, At: at}},
		Ends:     []ingest.Mark{{}},
		Cluster:  c.cluster,
		CaughtUp: behind == 0,
		Behind:   int64(behind),
		Delivery: c.delivery,
		Done:     func(err error) { q.finish(c, err) },
	}
}
