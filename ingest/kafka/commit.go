package kafka

import (
	"context"
	"log/slog"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest"
)

// commitEvery is how often the group is told how far it is.
const commitEvery = 5 * time.Second

// Committed says that what is before the mark is stored. The group is told now and then, for the sake of tools that show
// its lag: nothing is ever read from what it was told. Partitions of others, and all without a group, are left out.
func (s *Source) Committed(partition string, mark ingest.Mark) {
	if s.config.Group == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if mark.Compare(s.committed[partition]) > 0 {
		s.committed[partition] = mark
	}
}

// commitOffsets tells the group of the marks until the generation ends, and once more then.
func (s *Source) commitOffsets(ctx context.Context, g *kafkago.Generation, own []string) {
	tick := time.NewTicker(commitEvery)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			ended = true
		}
		offsets := s.takeCommitted(own)
		if len(offsets) == 0 {
			continue
		}
		if err := g.CommitOffsets(offsets); err != nil {
			s.config.Logger.Debug("Kafka: the group was not told how far it is",
				slog.String("group", s.config.Group), slog.String("error", err.Error()))
		}
	}
}

func (s *Source) takeCommitted(own []string) map[string]map[int]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	offsets := make(map[string]map[int]int64)
	for name, mark := range s.committed {
		topic, partition, err := parsePartition(name)
		if err != nil || !slices.Contains(own, name) {
			continue
		}
		if offsets[topic] == nil {
			offsets[topic] = make(map[int]int64)
		}
		offsets[topic][int(partition)] = mark.Offset
	}
	clear(s.committed)
	return offsets
}
