package webhook

import (
	"maps"
	"sync"
)

// Stats counts what happened since a Source was made.
type Stats struct {
	// Requests are those that were answered, by HTTP code. Gone counts those whose client did not wait for an answer.
	Requests map[int]int64
	Gone     int64
	// Joined are requests that repeated one under way, and got its answer.
	Joined int64
	// Queued are the deliveries that wait to be taken, InFlight those that are not stored yet, these among them.
	Queued, InFlight int
	// InFlightBytes is what bodies take that are being read, or not stored yet.
	InFlightBytes int64
	// ReloadErrors counts how often a file of certificates or tokens could not be used any more.
	ReloadErrors int64
}

// counters are what Stats takes from the handling of requests.
type counters struct {
	mu       sync.Mutex
	requests map[int]int64
	gone     int64
}

func (c *counters) answered(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = make(map[int]int64)
	}
	c.requests[code]++
}

func (c *counters) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone++
}

// Stats returns the counts as they are now.
func (s *Source) Stats() Stats {
	st := s.queue.stats()
	st.ReloadErrors = s.files.errors.Load()
	s.counters.mu.Lock()
	defer s.counters.mu.Unlock()
	st.Requests, st.Gone = maps.Clone(s.counters.requests), s.counters.gone
	return st
}
