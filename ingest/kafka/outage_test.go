package kafka_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/kafka"
	"github.com/vapshadow/vapshadow/internal/kafkatest"
)

// The tests of outages have a broker of their own, and share it, one after the other.
func TestOutages(t *testing.T) {
	b := kafkatest.Start(t, kafkatest.Options{})
	t.Run("killed under load", func(t *testing.T) { killedUnderLoad(t, b) })
	t.Run("corrupt batch", func(t *testing.T) { corruptBatch(t, b) })
	t.Run("down at the start", func(t *testing.T) { downAtStart(t, b) })
}

// The broker is killed while events are written and read: none is lost, none goes backwards.
func killedUnderLoad(t *testing.T, b *kafkatest.Broker) {
	topics := []string{"outage"}
	b.CreateTopic(t, "outage", 2)
	store := newMarks()
	load := startLoad(t, b, topics)
	m := join(t, b, store, "outage", topics...)
	for range 2 {
		before := store.count()
		eventually(t, "events come", func() bool { return store.count() > before+20 })
		if err := b.Kill(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the outage shows", func() bool {
			for _, h := range m.source.Health() {
				if h.Of == "outage/0" && h.Tries > 2 && strings.Contains(h.Retrying, "refused") {
					return true
				}
			}
			return false
		})
		if err := b.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before := store.count()
	eventually(t, "events come again", func() bool { return store.count() > before+20 })
	load.stop()
	eventually(t, "all is read", func() bool { return store.distinct() >= load.written })
	eventually(t, "health is well", func() bool {
		for _, h := range m.source.Health() {
			if h.Retrying != "" {
				return false
			}
		}
		return true
	})
	m.leave()
	load.check(t, store, true)
}

// A batch that rotted on the broker's disk becomes a skip that says how much is gone; what is around it is read.
func corruptBatch(t *testing.T, b *kafkatest.Broker) {
	b.CreateTopic(t, "rotten", 1)
	for _, value := range []string{"first", "second", "third"} {
		produce(t, b, &kafkago.Writer{Topic: "rotten"}, kafkago.Message{Value: []byte(value)}, kafkago.Message{Value: []byte(value)})
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(b.DataDir(), "rotten-0", "00000000000000000000.log"), "second", "sEcond")
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := newSource(t, kafka.Config{Access: access(b), Topics: []string{"rotten"}})
	chunks := read(t, s, "rotten/0", 0)
	want := []string{
		"rotten/0@0>1 first", "rotten/0@1>2 first", "rotten/0@2>4 CorruptStream", "rotten/0@4>5 third", "rotten/0@5>6 third",
	}
	if diff := cmp.Diff(want, texts(chunks)); diff != "" {
		t.Error(diff)
	}
	// Behind the skip the rest is read without it.
	if diff := cmp.Diff(want[3:], texts(read(t, s, "rotten/0", 4))); diff != "" {
		t.Error(diff)
	}
}

func replace(t *testing.T, file, old, changed string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		t.Fatalf("%s does not hold %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(content), old, changed, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Opening waits for no broker, and Next says within about a second that it knows nothing.
func downAtStart(t *testing.T, b *kafkatest.Broker) {
	b.CreateTopic(t, "late", 1)
	produce(t, b, &kafkago.Writer{Topic: "late"}, values(0, 1)...)
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	s := newSource(t, kafka.Config{Access: access(b), Topics: []string{"late"}, Group: "late", SessionTimeout: time.Second})
	stream := open(t, s, "late/0", 0)
	began := time.Now()
	c, err := stream.Next(t.Context())
	if err != nil || len(c.Entries) > 0 || c.CaughtUp || c.Behind != -1 {
		t.Fatalf("without a broker, Next returns %+v, %v", c, err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Next took %s", took)
	}
	told := make(chan ingest.Assignment, 8)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Watch(ctx, func(a ingest.Assignment) { told <- a }) }()
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{line("late", 0, "event 0")}, texts(next(t, stream))); diff != "" {
		t.Error(diff)
	}
	if a := <-told; fmt.Sprint(a) != "{[late/0] [late/0]}" {
		t.Errorf("the assignment is %v", a)
	}
	stop()
	if err := <-ended; err != context.Canceled {
		t.Errorf("Watch ended with %v", err)
	}
}
