// Package kafka reads audit events from topics of Kafka, and writes them there.
//
// Reading speaks the fetch protocol itself, on one connection a partition: the record batches say where the next message
// is, also where compaction took the last of a batch away or where a transaction ended, and nothing is handed out twice.
// kafka-go is used for the consumer group, for the codecs, for the encoding of the other requests, and for writing.
package kafka

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Access says how to reach the brokers.
type Access struct {
	// Brokers are host:port of some brokers; the others are found through them. At least one is needed.
	Brokers []string
	// ClientID names this process in the logs and quotas of the brokers. The default is "vapshadow".
	ClientID string
	// TLS encrypts the connections; nil for none.
	TLS *TLS
	// SASL logs in; nil for none.
	SASL *SASL
}

// Config says what a Source reads.
type Config struct {
	Access
	// Topics are read with all their partitions. At least one is needed.
	Topics []string
	// Group is the consumer group that divides the partitions among the processes. Without one, this process takes all.
	// The group decides only who reads: where to read on is for the store to say.
	Group string
	// SessionTimeout is how long a process may be silent until the group gives its partitions to others. The default is
	// 15 s; the brokers set limits of their own (group.min.session.timeout.ms).
	SessionTimeout time.Duration
	// MaxBytes is the most that one message may have, decompressed, and one batch of messages as it was written. A larger
	// one is an error that stops its partition, so it has to be above the largest event. The default is 32 MiB.
	MaxBytes int
	// Clusters has the name of the cluster that a topic's events are of.
	Clusters map[string]string
	// ClusterHeader is the name of a message header that holds the name of the cluster. It comes before Clusters; a
	// message without it is of the cluster that Clusters says.
	ClusterHeader string
	// Patience is how long an error that may pass, but that mostly a person has to mend, is retried until it is final: an
	// unknown topic, a position behind the end of the partition, and a login that is refused where it had worked before.
	// The default is 1 minute.
	Patience time.Duration
	// Refresh is how often to look for partitions that were added. The default is 10 s.
	Refresh time.Duration
	// Logger hears of what is retried. The default is slog's.
	Logger *slog.Logger
}

const (
	defaultClientID = "vapshadow"
	defaultMaxBytes = 32 << 20
	defaultPatience = time.Minute
	defaultRefresh  = 10 * time.Second
	defaultSession  = 15 * time.Second
)

func (a *Access) complete() error {
	if len(a.Brokers) == 0 {
		return errors.New("no brokers are given: name at least one, as host:port")
	}
	for _, b := range a.Brokers {
		if err := checkAddress(b); err != nil {
			return err
		}
	}
	if a.ClientID == "" {
		a.ClientID = defaultClientID
	}
	return nil
}

// complete checks a copy of the configuration and puts the defaults in.
func (c *Config) complete() error {
	if err := c.Access.complete(); err != nil {
		return err
	}
	if len(c.Topics) == 0 {
		return errors.New("no topics are given: name at least one")
	}
	for i, topic := range c.Topics {
		if err := checkTopic(topic); err != nil {
			return err
		}
		if slices.Contains(c.Topics[:i], topic) {
			return fmt.Errorf("topic %q is named twice", topic)
		}
	}
	for topic := range c.Clusters {
		if !slices.Contains(c.Topics, topic) {
			return fmt.Errorf("a cluster is named for topic %q, which is not read", topic)
		}
	}
	if c.MaxBytes < 0 || c.Patience < 0 || c.Refresh < 0 || c.SessionTimeout < 0 {
		return errors.New("sizes and times cannot be negative")
	}
	orDefault(&c.MaxBytes, defaultMaxBytes)
	orDefault(&c.Patience, defaultPatience)
	orDefault(&c.Refresh, defaultRefresh)
	orDefault(&c.SessionTimeout, defaultSession)
	orDefault(&c.Logger, slog.Default())
	return nil
}

func orDefault[T comparable](value *T, other T) {
	if *value == *new(T) {
		*value = other
	}
}
