package kafka_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/compress/snappy"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"github.com/vapshadow/vapshadow/ingest/kafka"
)

// recordSet encodes three messages with kafka-go's encoder, which is none of ours.
func recordSet(t testing.TB, codec kafkago.Compression) []byte {
	t.Helper()
	var buffer bytes.Buffer
	set := protocol.RecordSet{Version: 2, Attributes: protocol.Attributes(codec), Records: protocol.NewRecordReader(
		protocol.Record{Key: protocol.NewBytes([]byte("key")), Value: protocol.NewBytes([]byte("value"))},
		protocol.Record{Value: protocol.NewBytes(bytes.Repeat([]byte("long"), 100))},
		protocol.Record{Headers: []protocol.Header{{Key: "cluster", Value: []byte("east")}}},
	)}
	if _, err := set.WriteTo(&buffer); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()[4:] // behind the size
}

var codecs = []kafkago.Compression{0, kafkago.Gzip, kafkago.Snappy, kafkago.Lz4, kafkago.Zstd}

// Whatever the bytes are, reading ends, without a panic and without more memory than MaxBytes allows.
func FuzzRecords(f *testing.F) {
	for _, codec := range codecs {
		f.Add(recordSet(f, codec))
		f.Add(bytes.Repeat(recordSet(f, codec), 2)[:200])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const maxBytes = 1 << 16
		n, err := kafka.ReadAll(data, maxBytes)
		if err == nil && n > 0 && len(data) == 0 {
			t.Error("nothing holds messages")
		}
	})
}

func TestRecords(t *testing.T) {
	for _, codec := range codecs {
		data := recordSet(t, codec)
		if n, err := kafka.ReadAll(data, 1<<16); n != 3 || err != nil {
			t.Errorf("%v: %d messages, %v", codec, n, err)
		}
		// A batch that is cut is left out, however little is missing.
		if n, err := kafka.ReadAll(data[:len(data)-1], 1<<16); n != 0 || err != nil {
			t.Errorf("%v, cut: %d messages, %v", codec, n, err)
		}
	}
}

// Some clients write snappy as one block without frames.
func TestUnframedSnappy(t *testing.T) {
	framing := compress.SnappyCodec.Framing
	compress.SnappyCodec.Framing = snappy.Unframed
	data := recordSet(t, kafkago.Snappy)
	compress.SnappyCodec.Framing = framing
	if n, err := kafka.ReadAll(data, 1<<16); n != 3 || err != nil {
		t.Errorf("%d messages, %v", n, err)
	}
}

// A block that claims to be of gigabytes gets no memory.
func TestSnappyClaims(t *testing.T) {
	const header, lengthAt = 61, 8
	block := append(binary.AppendUvarint(nil, 1<<32-1), "short"...)
	data := append(recordSet(t, kafkago.Snappy)[:header:header], block...)
	binary.BigEndian.PutUint32(data[lengthAt:], uint32(len(data)-lengthAt-4))
	if n, err := kafka.ReadAll(data, 1<<16); n != 0 || err == nil || !strings.Contains(err.Error(), "claims more") {
		t.Errorf("%d messages, %v", n, err)
	}
}

func FuzzAnswer(f *testing.F) {
	var buffer bytes.Buffer
	answer := &fetch.Response{Topics: []fetch.ResponseTopic{{Topic: "audit", Partitions: []fetch.ResponsePartition{{
		Partition: 3, HighWatermark: 7, LastStableOffset: 6,
		AbortedTransactions: []fetch.ResponseTransaction{{ProducerID: 1, FirstOffset: 2}},
		RecordSet: protocol.RecordSet{Version: 2, Records: protocol.NewRecordReader(
			protocol.Record{Value: protocol.NewBytes([]byte("value"))})},
	}}}}}
	if err := protocol.WriteResponse(&buffer, 10, 1, answer); err != nil {
		f.Fatal(err)
	}
	body := buffer.Bytes()[8:] // behind the size and the number
	if err := kafka.ParseAnswer(body); err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Fuzz(func(_ *testing.T, body []byte) { _ = kafka.ParseAnswer(body) })
}
