package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest"
)

// DefaultClusterHeader is the message header that a Writer puts the name of the cluster in.
const DefaultClusterHeader = "vapshadow-cluster"

// WriterConfig says what a Writer writes to.
type WriterConfig struct {
	Access
	// Topic has to exist.
	Topic string
	// ClusterHeader is the name of the header that says which cluster an event is of. The default is DefaultClusterHeader.
	ClusterHeader string
	// MaxBytes is the most that one event may have. The brokers have limits of their own: max.message.bytes of the topic.
	// The default is 32 MiB.
	MaxBytes int
}

const (
	// batchMessages and batchBytes end a batch. A batch of many messages is kept below what brokers take by default; a
	// larger event is a batch of its own.
	batchMessages = 500
	batchBytes    = 900 << 10
	// linger is how long a batch waits for more messages.
	linger = 5 * time.Millisecond
	// writeTries are tries of one batch, with at most writeBackoff in between: a broker that restarts is waited for.
	writeTries   = 20
	writeBackoff = time.Second
)

// Writer writes audit events to a topic, one message an event, keyed by object. It is safe for use by several
// goroutines.
type Writer struct {
	config    WriterConfig
	transport *kafkago.Transport
	// many takes messages up to batchBytes, one the larger ones.
	many, one *kafkago.Writer
}

// NewWriter checks the configuration. It does not connect.
func NewWriter(c WriterConfig) (*Writer, error) {
	err := c.complete()
	var d *dialer
	if err == nil {
		d, err = newDialer(c.Access)
	}
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	w := &Writer{config: c, transport: &kafkago.Transport{
		DialTimeout:    dialTimeout,
		ClientID:       d.clientID,
		TLS:            d.tls,
		SASL:           d.sasl,
		MetadataTopics: []string{c.Topic},
	}}
	w.many, w.one = w.writer(batchMessages, batchBytes), w.writer(1, int64(c.MaxBytes)+fetchOverhead)
	return w, nil
}

func (c *WriterConfig) complete() error {
	if err := c.Access.complete(); err != nil {
		return err
	}
	if err := checkTopic(c.Topic); err != nil {
		return err
	}
	if c.MaxBytes < 0 {
		return errors.New("sizes cannot be negative")
	}
	orDefault(&c.MaxBytes, defaultMaxBytes)
	orDefault(&c.ClusterHeader, DefaultClusterHeader)
	return nil
}

func (w *Writer) writer(messages int, bytes int64) *kafkago.Writer {
	return &kafkago.Writer{
		Addr:            kafkago.TCP(w.config.Brokers...),
		Topic:           w.config.Topic,
		Balancer:        &kafkago.Hash{},
		RequiredAcks:    kafkago.RequireAll,
		Compression:     kafkago.Zstd,
		BatchSize:       messages,
		BatchBytes:      bytes,
		BatchTimeout:    linger,
		MaxAttempts:     writeTries,
		WriteBackoffMax: writeBackoff,
		Transport:       w.transport,
	}
}

// Close waits for what is being written.
func (w *Writer) Close() error {
	err := errors.Join(w.many.Close(), w.one.Close())
	w.transport.CloseIdleConnections()
	return err
}

// Written says what became of entries.
type Written struct {
	// Events were written.
	Events int
	// Skips are what of the entries is no event, and was not written.
	Skips []ingest.Skip
}

// Write writes the events of entries, as the bytes that they came in, and returns when all in-sync replicas have them.
// After an error some may be written and some not: writing the entries again writes those twice. An answer of a broker
// that gets lost has the same effect, as messages are written until they are acknowledged.
func (w *Writer) Write(ctx context.Context, cluster string, entries ...ingest.Entry) (Written, error) {
	var messages []kafkago.Message
	var skips []ingest.Skip
	for _, entry := range entries {
		of, skipped, err := w.messages(cluster, entry)
		messages, skips = append(messages, of...), append(skips, skipped...)
		if err != nil {
			return Written{Skips: skips}, err
		}
	}
	for rest := messages; len(rest) > 0; {
		// Messages of one object must not overtake each other, so a larger one waits for those before it, and so on.
		n := 0
		for n < len(rest) && size(rest[n]) <= batchBytes {
			n++
		}
		writer := w.many
		if n == 0 {
			n, writer = 1, w.one
		}
		if err := writer.WriteMessages(ctx, rest[:n]...); err != nil {
			return Written{Skips: skips}, w.explain(err, rest[:n])
		}
		rest = rest[n:]
	}
	return Written{Events: len(messages), Skips: skips}, nil
}

func (w *Writer) messages(cluster string, entry ingest.Entry) (messages []kafkago.Message, skips []ingest.Skip, err error) {
	for _, element := range ingest.Elements(entry) {
		events, skipped := ingest.Decode(element)
		skips = append(skips, skipped...)
		for _, ev := range events {
			m := kafkago.Message{Key: []byte(Key(cluster, ev)), Value: element.Data}
			// The time stays that of the writing: brokers delete by it, and would delete what is written late at once.
			if cluster != "" {
				m.Headers = []kafkago.Header{{Key: w.config.ClusterHeader, Value: []byte(cluster)}}
			}
			if len(m.Value) > w.config.MaxBytes {
				return nil, skips, fmt.Errorf("kafka: event %s has %d bytes, more than MaxBytes (%d)", ev.AuditID, len(m.Value), w.config.MaxBytes)
			}
			messages = append(messages, m)
		}
	}
	return messages, skips, nil
}

// size is what kafka-go counts of a message, or a little more.
func size(m kafkago.Message) int {
	const overhead = 128
	n := overhead + len(m.Key) + len(m.Value)
	for _, h := range m.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// explain makes one error of those of the messages.
func (w *Writer) explain(err error, messages []kafkago.Message) error {
	failed := 1
	if errs, ok := errors.AsType[kafkago.WriteErrors](err); ok {
		failed = errs.Count()
		for _, e := range errs {
			if e != nil {
				err = e
				break
			}
		}
	}
	if errors.Is(err, kafkago.MessageSizeTooLarge) {
		return fmt.Errorf("kafka: topic %s takes no messages as large as one of %d bytes: set its max.message.bytes above the largest event: %w",
			w.config.Topic, largest(messages), err)
	}
	return fmt.Errorf("kafka: writing %d of %d events to topic %s: %w", failed, len(messages), w.config.Topic, err)
}

func largest(messages []kafkago.Message) (n int) {
	for _, m := range messages {
		n = max(n, len(m.Value))
	}
	return n
}
