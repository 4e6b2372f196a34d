package kafka

import (
	"context"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
)

// Watch tells of the partitions of the topics, and which of them this process is to evaluate: all without a group, else
// what the group gives it. While the group is being divided anew, or cannot be reached, the last word counts: the store
// sees to it that nothing is stored twice. An error is for a person to mend.
func (s *Source) Watch(ctx context.Context, changed func(ingest.Assignment)) error {
	if s.config.Group == "" {
		return s.watchTopics(ctx, func(all []string) { changed(ingest.Assignment{All: all, Own: slices.Clone(all)}) })
	}
	return s.watchGroup(ctx, changed)
}

// watchTopics tells of the partitions at the beginning and whenever they are others.
func (s *Source) watchTopics(ctx context.Context, changed func(all []string)) error {
	defer s.forget(topicsHealth)
	var known []string
	backoff := firstBackoff
	for told := false; ; {
		wait := s.config.Refresh
		all, err := s.layout.partitions(ctx, s.config.Topics)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			if s.watchFails(topicsHealth, err, !told) {
				return err
			}
			wait = min(wait, backoff)
			backoff = min(2*backoff, maxBackoff)
		default:
			backoff = firstBackoff
			s.well(topicsHealth, nil)
			if !told || !slices.Equal(all, known) {
				known, told = all, true
				changed(slices.Clone(all))
			}
		}
		pause(ctx, wait)
	}
}

// watchFails notes an error and tells whether it is final. A topic that is deleted while it is read is no error: its
// streams say so.
func (s *Source) watchFails(what string, err error, fresh bool) bool {
	lasted := s.failing(what, err)
	switch natureOf(err) {
	case forGood:
		return true
	case login:
		return fresh || lasted >= s.config.Patience
	case mayPass:
		return fresh && lasted >= s.config.Patience
	default:
		return false
	}
}

// heartbeat is how often a member tells the group that it lives.
func (c *Config) heartbeat() time.Duration {
	return max(min(c.SessionTimeout/5, 3*time.Second), 100*time.Millisecond)
}
