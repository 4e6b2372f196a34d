package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// layout asks the brokers who leads what.
type layout struct {
	*dialer
	brokers []string
}

// metadata asks the first broker that answers.
func (l *layout) metadata(ctx context.Context, topics ...string) (*metadata.Response, error) {
	var errs []error
	for _, addr := range l.brokers {
		m, err := l.metadataOf(ctx, addr, topics)
		if err == nil {
			return m, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (l *layout) metadataOf(ctx context.Context, addr string, topics []string) (*metadata.Response, error) {
	c, err := l.connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	answer, err := c.roundTrip(ctx, metadataVersion, &metadata.Request{TopicNames: topics})
	if err != nil {
		return nil, fmt.Errorf("asking broker %s for the topics: %w", addr, hint(err, "does it want TLS, or SASL, at this port?"))
	}
	return answer.(*metadata.Response), nil
}

// partitions returns the names of all partitions of topics, in order.
func (l *layout) partitions(ctx context.Context, topics []string) ([]string, error) {
	m, err := l.metadata(ctx, topics...)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range m.Topics {
		if t.ErrorCode != 0 {
			return nil, fmt.Errorf("topic %s: %w", t.Name, kafkago.Error(t.ErrorCode))
		}
		slices.SortFunc(t.Partitions, func(a, b metadata.ResponsePartition) int {
			return int(a.PartitionIndex) - int(b.PartitionIndex)
		})
		for _, p := range t.Partitions {
			names = append(names, partitionName(t.Name, p.PartitionIndex))
		}
	}
	return names, nil
}

// leader returns the address of the broker that leads a partition.
func (l *layout) leader(ctx context.Context, topic string, partition int32) (string, error) {
	m, err := l.metadata(ctx, topic)
	if err != nil {
		return "", err
	}
	for _, t := range m.Topics {
		if t.ErrorCode != 0 {
			return "", kafkago.Error(t.ErrorCode)
		}
		for _, p := range t.Partitions {
			if t.Name == topic && p.PartitionIndex == partition {
				return address(m.Brokers, p)
			}
		}
	}
	return "", kafkago.UnknownTopicOrPartition
}

func address(brokers []metadata.ResponseBroker, p metadata.ResponsePartition) (string, error) {
	for _, b := range brokers {
		if b.NodeID == p.LeaderID {
			return net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), nil
		}
	}
	if p.ErrorCode != 0 {
		return "", kafkago.Error(p.ErrorCode)
	}
	return "", kafkago.LeaderNotAvailable
}
