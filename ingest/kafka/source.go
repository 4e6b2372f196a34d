package kafka

import (
	"context"
	"fmt"
	"sync"

	"github.com/vapshadow/vapshadow/ingest"
)

// Source reads the partitions of some topics. It is safe for use by several goroutines.
type Source struct {
	config Config
	layout *layout

	mu     sync.Mutex
	health map[string]*Health
	// committed are the marks that the group is not told of yet.
	committed map[string]ingest.Mark
}

var _ ingest.Source = (*Source)(nil)

// New checks the configuration. It does not connect: brokers that are down are waited for.
func New(c Config) (*Source, error) {
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	d, err := newDialer(c.Access)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return &Source{
		config:    c,
		layout:    &layout{dialer: d, brokers: c.Brokers},
		health:    make(map[string]*Health),
		committed: make(map[string]ingest.Mark),
	}, nil
}

// Open opens a partition for reading behind a mark: the Offset is that of the next message. The zero Mark is the first
// message that the partition has. It does not wait for the brokers.
func (s *Source) Open(ctx context.Context, name string, from ingest.Mark) (ingest.Stream, error) {
	topic, partition, err := parsePartition(name)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	if from.Offset < 0 {
		return nil, fmt.Errorf("kafka: %s cannot be read from offset %d on", name, from.Offset)
	}
	// The stream ends with Close: the context is that of the opening.
	return newStream(context.WithoutCancel(ctx), s, topic, partition, from.Offset), nil
}
