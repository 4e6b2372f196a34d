package kafka_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/kafka"
	"github.com/vapshadow/vapshadow/internal/kafkatest"
)

// patience bounds the tests that wait for something.
const patience = 60 * time.Second

var names atomic.Int64

// unique makes a name for a topic or a group: the broker outlives a test that runs several times.
func unique(t *testing.T) string {
	name := strings.NewReplacer("/", "-", " ", "-", ",", "-").Replace(t.Name())
	return fmt.Sprintf("%s-%d", name, names.Add(1))
}

// topicOf makes a topic for a test.
func topicOf(t *testing.T, b *kafkatest.Broker, partitions int, settings ...string) string {
	t.Helper()
	name := unique(t)
	b.CreateTopic(t, name, partitions, settings...)
	return name
}

func newSource(t *testing.T, c kafka.Config) *kafka.Source {
	t.Helper()
	s, err := kafka.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func access(b *kafkatest.Broker) kafka.Access { return kafka.Access{Brokers: []string{b.Addr}} }

// produce writes messages with kafka-go's own writer, and waits for the acknowledgement.
func produce(t *testing.T, b *kafkatest.Broker, w *kafkago.Writer, messages ...kafkago.Message) {
	t.Helper()
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	w.Addr, w.Transport, w.RequiredAcks, w.BatchTimeout = kafkago.TCP(b.Addr), transport, kafkago.RequireAll, time.Millisecond
	w.BatchBytes = 64 << 20
	defer w.Close()
	if err := w.WriteMessages(t.Context(), messages...); err != nil {
		t.Fatal(err)
	}
}

// to sends a message to the partition that its key names.
type to int

func (p to) Balance(kafkago.Message, ...int) int { return int(p) }

// values makes messages that are told apart by their number.
func values(from, to int) (messages []kafkago.Message) {
	for i := from; i < to; i++ {
		messages = append(messages, kafkago.Message{Value: fmt.Appendf(nil, "event %d", i)})
	}
	return messages
}

// read opens a partition and reads until it is caught up.
func read(t *testing.T, s *kafka.Source, name string, from int64) []ingest.Chunk {
	t.Helper()
	stream := open(t, s, name, from)
	return untilCaughtUp(t, stream)
}

func open(t *testing.T, s *kafka.Source, name string, from int64) ingest.Stream {
	t.Helper()
	stream, err := s.Open(t.Context(), name, ingest.Mark{Offset: from})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return stream
}

func untilCaughtUp(t *testing.T, stream ingest.Stream) (chunks []ingest.Chunk) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		c, err := stream.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Entries) != len(c.Ends) {
			t.Fatalf("%d entries with %d ends", len(c.Entries), len(c.Ends))
		}
		if len(c.Entries) > 0 {
			chunks = append(chunks, c)
		}
		if c.CaughtUp {
			return chunks
		}
	}
}

// texts are the values of all entries, with their offsets; a skip shows its reason.
func texts(chunks []ingest.Chunk) (all []string) {
	for _, c := range chunks {
		for i, e := range c.Entries {
			text := string(e.Data)
			if e.Skip != nil {
				text = string(e.Skip.Reason)
			}
			all = append(all, fmt.Sprintf("%s>%d %s", e.At, c.Ends[i].Offset, text))
		}
	}
	return all
}

func TestReadPartitionsOfTopics(t *testing.T) {
	b := broker(t)
	topics := []string{topicOf(t, b, 2), topicOf(t, b, 2)}
	want := make(map[string][]string)
	for i, topic := range topics {
		for p := range 2 {
			produce(t, b, &kafkago.Writer{Topic: topic, Balancer: to(p)}, values(100*i, 100*i+3+p)...)
			name := fmt.Sprintf("%s/%d", topic, p)
			for n := range 3 + p {
				want[name] = append(want[name], fmt.Sprintf("%s@%d>%d event %d", name, n, n+1, 100*i+n))
			}
		}
	}
	s := newSource(t, kafka.Config{Access: access(b), Topics: topics})
	got := make(map[string][]string)
	ctx, stop := context.WithCancel(t.Context())
	err := s.Watch(ctx, func(a ingest.Assignment) {
		defer stop()
		if diff := cmp.Diff(a.All, a.Own); diff != "" {
			t.Errorf("without a group, all partitions are this process's: %s", diff)
		}
		for _, name := range a.Own {
			got[name] = texts(read(t, s, name, 0))
		}
	})
	if err != context.Canceled {
		t.Fatalf("Watch ended with %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadFromMark(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 1)
	produce(t, b, &kafkago.Writer{Topic: topic}, values(0, 10)...) // one batch, which is sent whole
	s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}})
	want := []string{topic + "/0@8>9 event 8", topic + "/0@9>10 event 9"}
	if diff := cmp.Diff(want, texts(read(t, s, topic+"/0", 8))); diff != "" {
		t.Error(diff)
	}
	stream := open(t, s, topic+"/0", 10)
	if got := untilCaughtUp(t, stream); got != nil {
		t.Errorf("behind the end there is %v", texts(got))
	}
	// What comes later is read too.
	produce(t, b, &kafkago.Writer{Topic: topic}, values(10, 11)...)
	if diff := cmp.Diff([]string{topic + "/0@10>11 event 10"}, texts(next(t, stream))); diff != "" {
		t.Error(diff)
	}
}

// next waits for a chunk with entries.
func next(t *testing.T, stream ingest.Stream) []ingest.Chunk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		c, err := stream.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Entries) > 0 {
			return []ingest.Chunk{c}
		}
	}
}

// line is what texts shows of a message at an offset.
func line(topic string, offset int, value string) string {
	return fmt.Sprintf("%s/0@%d>%d %s", topic, offset, offset+1, value)
}
