package kafka

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
)

// Health says how reading a partition goes, or looking at the topics, or being in the consumer group.
type Health struct {
	// Of is the name of a partition, or "topics", or "consumer group".
	Of string
	// Fetched is the offset behind the last message that was fetched.
	Fetched int64
	// End is the offset behind the last message that can be read; HighWatermark is further where a transaction is open.
	End, HighWatermark int64
	// Retrying is the error that is being retried; empty where all is well. Since is when it began, Tries how often.
	Retrying string
	Since    time.Time
	Tries    int

	warned time.Time
}

// What is no partition has a name that is none of a partition.
const (
	topicsHealth = "topics"
	groupHealth  = "consumer group"
)

// warnEvery bounds how often an error that is retried is logged.
const warnEvery = 30 * time.Second

// Health returns the state of all that is being read and watched, by name.
func (s *Source) Health() []Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Health
	for h := range maps.Values(s.health) {
		all = append(all, *h)
	}
	slices.SortFunc(all, func(a, b Health) int { return strings.Compare(a.Of, b.Of) })
	return all
}

// failing notes an error that is retried, warns of it now and then, and returns how long it has been going on.
func (s *Source) failing(of string, err error) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.healthOf(of)
	now := time.Now()
	if h.Tries == 0 {
		h.Since = now
	}
	h.Tries++
	h.Retrying = err.Error()
	// A broker that restarts is no news: the first warning comes with the second try.
	if h.Tries > 1 && now.Sub(h.warned) >= warnEvery {
		h.warned = now
		s.config.Logger.Warn("Kafka: trying again", slog.String("reading", of), slog.String("error", h.Retrying),
			slog.Duration("for", now.Sub(h.Since)), slog.Int("tries", h.Tries))
	}
	return now.Sub(h.Since)
}

// well notes that an error is over.
func (s *Source) well(of string, update func(*Health)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.healthOf(of)
	if h.Tries > 1 && !h.warned.Before(h.Since) {
		s.config.Logger.Info("Kafka: works again", slog.String("reading", of), slog.Int("tries", h.Tries))
	}
	h.Retrying, h.Since, h.Tries = "", time.Time{}, 0
	if update != nil {
		update(h)
	}
}

// healthOf wants the lock held.
func (s *Source) healthOf(of string) *Health {
	h := s.health[of]
	if h == nil {
		h = &Health{Of: of}
		s.health[of] = h
	}
	return h
}

func (s *Source) forget(of string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.health, of)
}
