package kafkatest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// CreateTopic makes a topic, with settings as pairs of name and value, and waits until its partitions have a leader.
func (b *Broker) CreateTopic(t testing.TB, name string, partitions int, settings ...string) {
	t.Helper()
	conn, err := b.dial(t.Context())
	if err != nil {
		t.Fatalf("creating topic %s: %v", name, err)
	}
	defer conn.Close() //nolint:errcheck // asked and answered
	config := kafka.TopicConfig{Topic: name, NumPartitions: partitions, ReplicationFactor: 1}
	for i := 0; i+1 < len(settings); i += 2 {
		config.ConfigEntries = append(config.ConfigEntries,
			kafka.ConfigEntry{ConfigName: settings[i], ConfigValue: settings[i+1]})
	}
	if err := conn.CreateTopics(config); err != nil {
		t.Fatalf("creating topic %s: %v", name, err)
	}
	b.awaitLeaders(t, conn, name, partitions)
}

// awaitLeaders polls until each partition can be read: the metadata name a leader before it knows of it itself.
func (b *Broker) awaitLeaders(t testing.TB, conn *kafka.Conn, name string, partitions int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last error
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); <-tick.C {
		found, err := conn.ReadPartitions(name)
		if last = err; err != nil || len(found) != partitions {
			continue
		}
		for _, p := range found {
			if last = b.leads(t.Context(), p); last != nil {
				break
			}
		}
		if last == nil {
			return
		}
	}
	t.Fatalf("topic %s got no leaders in %s: %v\n%s", name, startTime, last, b.Log())
}

func (b *Broker) leads(ctx context.Context, p kafka.Partition) error {
	conn, err := (&kafka.Dialer{}).DialPartition(ctx, "tcp", b.Addr, p)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // asked and answered
	if err := conn.SetDeadline(time.Now().Add(startTime)); err != nil {
		return err
	}
	_, err = conn.ReadFirstOffset()
	return err
}

// dial connects to the listener without TLS and SASL.
func (b *Broker) dial(ctx context.Context) (*kafka.Conn, error) {
	conn, err := kafka.DialContext(ctx, "tcp", b.Addr)
	if err != nil {
		return nil, fmt.Errorf("connecting to the broker: %w", err)
	}
	return conn, conn.SetDeadline(time.Now().Add(startTime))
}
