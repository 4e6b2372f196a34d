package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/kafka"
)

func noise(n int) []byte {
	r := rand.NewChaCha8([32]byte{})
	b := make([]byte, n)
	_, _ = r.Read(b) // never fails
	return b
}

// Messages above the size that is fetched at once are read whole, and chunks end where they have enough.
func TestLargeMessages(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 1, "max.message.bytes", "20000000")
	large := noise(5 << 20)
	for range 3 {
		produce(t, b, &kafkago.Writer{Topic: topic}, kafkago.Message{Value: large}, kafkago.Message{Value: []byte("small")})
	}
	s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}})
	chunks := read(t, s, topic+"/0", 0)
	var got []ingest.Entry
	for _, c := range chunks {
		got = append(got, c.Entries...)
	}
	if len(got) != 6 || len(chunks) < 3 {
		t.Fatalf("%d entries in %d chunks, want 6 in at least 3", len(got), len(chunks))
	}
	for i, e := range got {
		want := large
		if i%2 == 1 {
			want = []byte("small")
		}
		if !bytes.Equal(e.Data, want) {
			t.Errorf("entry %d has %d bytes, want %d", i, len(e.Data), len(want))
		}
	}
}

func TestTooLarge(t *testing.T) {
	b := broker(t)
	for name, tt := range map[string]struct {
		codec   kafkago.Compression
		content []byte
	}{
		"as written":   {content: noise(300_000)},
		"decompressed": {codec: kafkago.Zstd, content: make([]byte, 300_000)},
	} {
		t.Run(name, func(t *testing.T) {
			topic := topicOf(t, b, 1)
			produce(t, b, &kafkago.Writer{Topic: topic, Compression: tt.codec}, kafkago.Message{Value: []byte("fits")})
			produce(t, b, &kafkago.Writer{Topic: topic, Compression: tt.codec}, kafkago.Message{Value: tt.content})
			s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}, MaxBytes: 100_000})
			stream := open(t, s, topic+"/0", 0)
			if got := texts(next(t, stream)); len(got) != 1 || !strings.HasSuffix(got[0], "fits") {
				t.Fatalf("the message before the large one is read as %v", got)
			}
			err := fails(t, stream)
			tooLarge, ok := errors.AsType[*kafka.TooLargeError](err)
			if !ok || tooLarge.Offset != 1 || tooLarge.Size < 300_000 || !strings.Contains(err.Error(), topic+"/0") {
				t.Fatalf("got %v, want a TooLargeError for offset 1 of %s/0", err, topic)
			}
			// The error stays: nothing is passed over.
			if again := fails(t, stream); !errors.As(again, &tooLarge) {
				t.Fatalf("the error is followed by %v", again)
			}
		})
	}
}

// fails reads until the stream has an error.
func fails(t *testing.T, stream ingest.Stream) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		c, err := stream.Next(ctx)
		if ctx.Err() != nil {
			t.Fatal("no error came")
		}
		if err != nil {
			return err
		}
		if len(c.Entries) > 0 {
			t.Fatalf("read %v instead of an error", texts([]ingest.Chunk{c}))
		}
	}
}
