package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest"
)

// rejoinAfter is how long a member waits after it could not join the group.
const rejoinAfter = time.Second

// generation is what the group came to, or why it came to nothing.
type generation struct {
	*kafkago.Generation
	err error
}

// membership is this process's place in the consumer group. It belongs to one goroutine.
type membership struct {
	source  *Source
	changed func(ingest.Assignment)
	told    ingest.Assignment
	// current is the last generation; rejoin ends it, so that the group is divided anew.
	current *kafkago.Generation
	rejoin  chan struct{}
	// grown is set where the last generation may have been made before partitions were added.
	grown bool
}

// watchGroup tells of each generation of the group, and of partitions that are added in between.
func (s *Source) watchGroup(ctx context.Context, changed func(ingest.Assignment)) error {
	ctx, cancel := context.WithCancel(ctx)
	topics, failed := make(chan []string), make(chan error, 1)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		failed <- s.watchTopics(ctx, func(all []string) { send(ctx, topics, all) })
	})
	// The topics come first: what is added to them from now on is noticed, whichever the group knew of.
	m := &membership{source: s, changed: changed}
	select {
	case err := <-failed:
		return err
	case m.told.All = <-topics:
	}

	dial := newTracked(s.layout.dialer)
	group, err := s.joinGroup(dial)
	if err != nil {
		return err
	}
	defer dial.closing(group.Close)
	generations := make(chan generation)
	running.Go(func() {
		for ctx.Err() == nil {
			g, err := group.Next(ctx)
			send(ctx, generations, generation{g, err})
		}
	})
	return m.follow(ctx, topics, generations, failed)
}

func (s *Source) joinGroup(dial *tracked) (*kafkago.ConsumerGroup, error) {
	group, err := kafkago.NewConsumerGroup(kafkago.ConsumerGroupConfig{
		ID:                s.config.Group,
		Brokers:           s.config.Brokers,
		Dialer:            dial.dialer(),
		Topics:            s.config.Topics,
		GroupBalancers:    []kafkago.GroupBalancer{dealer{}},
		HeartbeatInterval: s.config.heartbeat(),
		SessionTimeout:    s.config.SessionTimeout,
		RebalanceTimeout:  s.config.SessionTimeout,
		JoinGroupBackoff:  rejoinAfter,
		Timeout:           dialTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("kafka: consumer group %s: %w", s.config.Group, err)
	}
	return group, nil
}

func (m *membership) follow(ctx context.Context, topics <-chan []string, generations <-chan generation, failed <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case all := <-topics:
			m.partitions(all)
		case g := <-generations:
			if err := m.join(ctx, g); err != nil {
				return err
			}
		}
	}
}

// partitions takes note that the topics have other partitions than before, and has the group divided anew.
func (m *membership) partitions(all []string) {
	m.told.All = all
	m.grown = true
	if m.current == nil {
		return // the first generation tells them
	}
	m.tell()
	m.divideAnew()
}

func (m *membership) divideAnew() {
	if m.rejoin != nil {
		close(m.rejoin)
		m.rejoin = nil
	}
}

func (m *membership) join(ctx context.Context, g generation) error {
	s := m.source
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(g.err, kafkago.RebalanceInProgress):
		return nil
	case g.err != nil:
		err := fmt.Errorf("kafka: joining consumer group %s: %w", s.config.Group, g.err)
		if s.watchFails(groupHealth, err, m.current == nil) {
			return err
		}
		return nil
	}
	s.well(groupHealth, nil)
	m.current, m.rejoin = g.Generation, make(chan struct{})
	m.told.Own = owned(g.Generation)
	// The group may know of partitions that were added since the topics were looked at.
	for _, name := range m.told.Own {
		if !slices.Contains(m.told.All, name) {
			m.told.All = append(slices.Clone(m.told.All), name)
		}
	}
	m.live(g.Generation)
	m.tell()
	if m.grown {
		// Whoever divided this generation may not have seen the new partitions. The next one will.
		m.grown = false
		m.divideAnew()
	}
	return nil
}

// live does what is to be done as long as the generation lasts. The generation ends when one of the functions does.
func (m *membership) live(g *kafkago.Generation) {
	rejoin, own := m.rejoin, m.told.Own
	g.Start(func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-rejoin:
		}
	})
	g.Start(func(ctx context.Context) { m.source.commitOffsets(ctx, g, own) })
}

func (m *membership) tell() {
	m.changed(ingest.Assignment{All: slices.Clone(m.told.All), Own: slices.Clone(m.told.Own)})
}

func owned(g *kafkago.Generation) []string {
	var names []string
	for topic, partitions := range g.Assignments {
		for _, p := range partitions {
			names = append(names, partitionName(topic, int32(p.ID)))
		}
	}
	slices.Sort(names)
	return names
}

func send[T any](ctx context.Context, to chan<- T, value T) {
	select {
	case to <- value:
	case <-ctx.Done():
	}
}
