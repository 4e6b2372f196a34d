package kafka_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest/kafka"
	"github.com/vapshadow/vapshadow/internal/kafkatest"
)

// What the brokers deleted before it was read is a skip that says how much it is.
func TestExpired(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 1, "retention.ms", "-1")
	produce(t, b, &kafkago.Writer{Topic: topic}, values(0, 10)...)
	set(t, b, topic, "retention.ms", "1")
	eventually(t, "the messages are deleted", func() bool {
		first, _ := bounds(t, b, topic)
		return first == 10
	})
	set(t, b, topic, "retention.ms", "-1")
	produce(t, b, &kafkago.Writer{Topic: topic}, values(10, 12)...)

	s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}})
	left := []string{line(topic, 10, "event 10"), line(topic, 11, "event 11")}
	chunks := read(t, s, topic+"/0", 3)
	want := append([]string{fmt.Sprintf("%s/0@3>10 Expired", topic)}, left...)
	if diff := cmp.Diff(want, texts(chunks)); diff != "" {
		t.Fatal(diff)
	}
	if detail := chunks[0].Entries[0].Skip.Detail; !strings.HasPrefix(detail, "7 offsets from 3 on") {
		t.Errorf("the skip says %q", detail)
	}
	// Who begins at the beginning has lost nothing.
	if diff := cmp.Diff(left, texts(read(t, s, topic+"/0", 0))); diff != "" {
		t.Error(diff)
	}
}

// Compaction takes messages away, also the last ones of a batch and whole batches. Reading goes over them.
func TestCompacted(t *testing.T) {
	b := broker(t)
	for _, codec := range []kafkago.Compression{0, kafkago.Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			topic := topicOf(t, b, 1, "cleanup.policy", "compact", "segment.ms", "100", "min.cleanable.dirty.ratio", "0.01")
			batches := [][]string{
				{"a", "b", "c", "d", "e", "f"}, // 0 to 5, of which c to f go: the tail
				{"x", "y"},                     // 6 and 7, which go both
				{"z", "y"},                     // 8 and 9: y goes
				{"x", "y", "c", "d", "e", "f"}, // 10 to 15
				{"last"},                       // 16
			}
			n := 0
			for _, keys := range batches {
				var messages []kafkago.Message
				for _, key := range keys {
					messages = append(messages, kafkago.Message{Key: []byte(key), Value: fmt.Appendf(nil, "%s%d", key, n)})
					n++
				}
				produce(t, b, &kafkago.Writer{Topic: topic, Compression: codec}, messages...)
				<-time.After(150 * time.Millisecond) // the next batch begins a segment: only those before the last are compacted
			}
			s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}})
			want := []string{line(topic, 0, "a0"), line(topic, 1, "b1"), line(topic, 8, "z8"), line(topic, 10, "x10"),
				line(topic, 11, "y11"), line(topic, 12, "c12"), line(topic, 13, "d13"), line(topic, 14, "e14"),
				line(topic, 15, "f15"), line(topic, 16, "last16")}
			eventually(t, "the topic is compacted", func() bool { return cmp.Equal(want, texts(read(t, s, topic+"/0", 0))) })
			// With so little asked for at once, each batch comes alone: one whose last messages are gone as well.
			single := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}, MaxBytes: 1})
			for from, rest := range map[int64][]string{
				0: want, 2: want[2:], 5: want[2:], 6: want[2:], 7: want[2:], 9: want[3:], 16: want[9:]} {
				for _, s := range []*kafka.Source{s, single} {
					if diff := cmp.Diff(rest, texts(read(t, s, topic+"/0", from))); diff != "" {
						t.Errorf("from %d on: %s", from, diff)
					}
				}
			}
		})
	}
}

// A position that the partition does not reach, and a topic that does not exist, are for a person to see to.
func TestNoSuchPlace(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 1)
	produce(t, b, &kafkago.Writer{Topic: topic}, values(0, 2)...)
	s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}, Patience: 200 * time.Millisecond})
	err := fails(t, open(t, s, topic+"/0", 7))
	if beyond, ok := errors.AsType[*kafka.BeyondEndError](err); !ok || beyond.Offset != 7 || beyond.End != 2 {
		t.Errorf("a position beyond the end gives %v", err)
	}
	for _, name := range []string{topic + "/1", "none-such/0"} {
		if err := fails(t, open(t, s, name, 0)); !errors.Is(err, kafkago.UnknownTopicOrPartition) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	s = newSource(t, kafka.Config{Access: access(b), Topics: []string{"none-such"}, Group: "none", Patience: 200 * time.Millisecond})
	if err := s.Watch(t.Context(), nil); !errors.Is(err, kafkago.UnknownTopicOrPartition) || !strings.Contains(err.Error(), "none-such") {
		t.Errorf("a topic that does not exist gives %v", err)
	}
}

// An event of nothing is an entry without data, as Decode takes it.
func TestTombstone(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 1)
	produce(t, b, &kafkago.Writer{Topic: topic}, kafkago.Message{Key: []byte("k")}, kafkago.Message{Value: []byte("v")})
	s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}})
	if diff := cmp.Diff([]string{line(topic, 0, ""), line(topic, 1, "v")}, texts(read(t, s, topic+"/0", 0))); diff != "" {
		t.Error(diff)
	}
}

func set(t *testing.T, b *kafkatest.Broker, topic, name, value string) {
	t.Helper()
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafkago.Client{Addr: kafkago.TCP(b.Addr), Transport: transport}
	answer, err := client.IncrementalAlterConfigs(t.Context(), &kafkago.IncrementalAlterConfigsRequest{
		Resources: []kafkago.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafkago.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafkago.IncrementalAlterConfigsRequestConfig{{Name: name, Value: value, ConfigOperation: kafkago.ConfigOperationSet}},
		}}})
	if err != nil || answer.Resources[0].Error != nil {
		t.Fatal(err, answer)
	}
}

// bounds are the first offset of partition 0 and the one behind its last.
func bounds(t *testing.T, b *kafkatest.Broker, topic string) (first, end int64) {
	t.Helper()
	conn, err := kafkago.DialLeader(t.Context(), "tcp", b.Addr, topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	first, end, err = conn.ReadOffsets()
	if err != nil {
		t.Fatal(err)
	}
	return first, end
}
