package kafka_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest/kafka"
)

func TestCompression(t *testing.T) {
	b := broker(t)
	for _, codec := range []kafkago.Compression{0, kafkago.Gzip, kafkago.Snappy, kafkago.Lz4, kafkago.Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			topic := topicOf(t, b, 1)
			produce(t, b, &kafkago.Writer{Topic: topic, Compression: codec}, values(0, 100)...)
			produce(t, b, &kafkago.Writer{Topic: topic, Compression: codec}, values(100, 101)...)
			s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}})
			got := texts(read(t, s, topic+"/0", 0))
			var want []string
			for i, m := range values(0, 101) {
				want = append(want, line(topic, i, string(m.Value)))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
