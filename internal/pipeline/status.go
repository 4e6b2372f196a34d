package pipeline

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Status says how a service is. It is safe for use by several goroutines; the zero Status is that of one that has not
// begun.
type Status struct {
	beat    atomic.Int64 // when the session last went round, in nanoseconds since 1970
	running atomic.Bool
	failing atomic.Pointer[error] // why the last batch could not be stored; nil where it was
}

// stuckAfter is how long a session may take for one round: restoring a large history is the longest.
const stuckAfter = 5 * time.Minute

func (s *Status) beats(now time.Time) {
	if s != nil {
		s.beat.Store(now.UnixNano())
	}
}

func (s *Status) runs(running bool) {
	if s != nil {
		s.running.Store(running)
	}
}

// stores notes what came of the last try to store a batch.
func (s *Status) stores(err error) {
	switch {
	case s == nil:
	case err == nil:
		s.failing.Store(nil)
	default:
		s.failing.Store(&err)
	}
}

// Alive returns an error where the service hangs, so that it is best begun anew.
func (s *Status) Alive() error {
	last := s.beat.Load()
	if age := time.Since(time.Unix(0, last)); last != 0 && age > stuckAfter {
		return fmt.Errorf("nothing has moved for %s", age.Round(time.Second))
	}
	return nil
}

// Ready returns an error where no partition is read: the assignment is awaited, or the store does not answer; and where
// the store does not take what there is to be stored, since its disk is full for example.
func (s *Status) Ready() error {
	if !s.running.Load() {
		return errors.New("no partitions are read yet")
	}
	if err := s.failing.Load(); err != nil {
		return fmt.Errorf("storing fails, and is tried again: %w", *err)
	}
	return nil
}
