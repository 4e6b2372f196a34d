package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/kafka"
	"github.com/vapshadow/vapshadow/internal/kafkatest"
)

// marks stands for the store: it takes each move of a mark once, from where the partition is.
type marks struct {
	mu   sync.Mutex
	at   map[string]int64
	read map[string][]string
}

func newMarks() *marks { return &marks{at: make(map[string]int64), read: make(map[string][]string)} }

func (m *marks) get(partition string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at[partition]
}

func (m *marks) store(partition string, from int64, c ingest.Chunk) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at[partition] != from {
		return false
	}
	for _, e := range c.Entries {
		m.read[partition] = append(m.read[partition], string(e.Data))
	}
	m.at[partition] = c.Ends[len(c.Ends)-1].Offset
	return true
}

func (m *marks) count() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, read := range m.read {
		n += len(read)
	}
	return n
}

// distinct counts the events without what was written twice.
func (m *marks) distinct() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := make(map[string]bool)
	for _, read := range m.read {
		for _, text := range read {
			seen[text] = true
		}
	}
	return len(seen)
}

// member reads what the group gives it, as the pipeline does.
type member struct {
	t      *testing.T
	source *kafka.Source
	store  *marks
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu  sync.Mutex
	own []string
	all []string
}

func join(t *testing.T, b *kafkatest.Broker, store *marks, group string, topics ...string) *member {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	m := &member{t: t, store: store, stop: stop, source: newSource(t, kafka.Config{
		Access: access(b), Topics: topics, Group: group, SessionTimeout: time.Second, Refresh: 100 * time.Millisecond})}
	var readers sync.WaitGroup
	running := make(map[string]context.CancelFunc)
	m.done.Go(func() {
		defer readers.Wait()
		err := m.source.Watch(ctx, func(a ingest.Assignment) {
			m.mu.Lock()
			m.own, m.all = a.Own, a.All
			m.mu.Unlock()
			for name, cancel := range running {
				if !slices.Contains(a.Own, name) {
					cancel()
					delete(running, name)
				}
			}
			for _, name := range a.Own {
				if running[name] == nil {
					reading, cancel := context.WithCancel(ctx)
					running[name] = cancel
					readers.Go(func() { m.read(reading, name) })
				}
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Watch ended with %v", err)
		}
		for _, cancel := range running {
			cancel()
		}
	})
	t.Cleanup(m.leave)
	return m
}

func (m *member) leave() {
	m.stop()
	m.done.Wait()
}

func (m *member) read(ctx context.Context, name string) {
	for ctx.Err() == nil {
		from := m.store.get(name)
		stream, err := m.source.Open(ctx, name, ingest.Mark{Offset: from})
		if err != nil {
			m.t.Error(err)
			return
		}
		m.follow(ctx, stream, name, from)
		_ = stream.Close()
	}
}

// follow stores what it reads until another member was faster.
func (m *member) follow(ctx context.Context, stream ingest.Stream, name string, from int64) {
	for {
		c, err := stream.Next(ctx)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				m.t.Errorf("reading %s: %v", name, err)
			}
			return
		}
		if len(c.Entries) == 0 {
			continue
		}
		for i, e := range c.Entries {
			if e.At.Offset < from || c.Ends[i].Offset != e.At.Offset+1 || e.Skip != nil {
				m.t.Errorf("%s: entry at %d ends at %v behind %d, skip %v", name, e.At.Offset, c.Ends[i], from, e.Skip)
			}
		}
		if !m.store.store(name, from, c) {
			return
		}
		from = c.Ends[len(c.Ends)-1].Offset
		m.source.Committed(name, ingest.Mark{Offset: from})
	}
}

func (m *member) owns() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.own)
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if holds() {
			return
		}
	}
	t.Fatalf("in %s it did not happen that %s", patience, what)
}

// Members come and go while events are written; each event is stored once, in the order of its partition.
func TestGroupUnderLoad(t *testing.T) {
	b := broker(t)
	topics := []string{topicOf(t, b, 2), topicOf(t, b, 2), topicOf(t, b, 2)}
	group := unique(t)
	store := newMarks()
	load := startLoad(t, b, topics)
	first := join(t, b, store, group, topics...)
	eventually(t, "the first member has all", func() bool { return len(first.owns()) == 6 })
	second := join(t, b, store, group, topics...)
	eventually(t, "both have half", func() bool { return len(first.owns()) == 3 && len(second.owns()) == 3 })
	both := slices.Concat(first.owns(), second.owns())
	slices.Sort(both)
	if len(slices.Compact(both)) != 6 {
		t.Errorf("the members have %v and %v", first.owns(), second.owns())
	}
	first.leave()
	eventually(t, "the second has all", func() bool { return len(second.owns()) == 6 })
	third := join(t, b, store, group, topics...)
	eventually(t, "the third has half", func() bool { return len(third.owns()) == 3 })
	load.stop()
	eventually(t, "all is read", func() bool { return store.distinct() >= load.written })
	load.check(t, store, false)
}

// Partitions that are added are divided too.
func TestPartitionsAdded(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 1)
	store := newMarks()
	first, second := join(t, b, store, topic, topic), join(t, b, store, topic, topic)
	total := func() int { return len(first.owns()) + len(second.owns()) }
	eventually(t, "one has the partition", func() bool { return total() == 1 })
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafkago.Client{Addr: kafkago.TCP(b.Addr), Transport: transport}
	answer, err := client.CreatePartitions(t.Context(), &kafkago.CreatePartitionsRequest{
		Topics: []kafkago.TopicPartitionsConfig{{Name: topic, Count: 4}}})
	if err != nil || answer.Errors[topic] != nil {
		t.Fatal(err, answer)
	}
	eventually(t, "both have two", func() bool { return len(first.owns()) == 2 && len(second.owns()) == 2 })
	first.mu.Lock()
	defer first.mu.Unlock()
	if len(first.all) != 4 {
		t.Errorf("all partitions are %v", first.all)
	}
}

// What is stored is shown to tools that ask the group.
func TestCommitted(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 1)
	produce(t, b, &kafkago.Writer{Topic: topic}, values(0, 5)...)
	store := newMarks()
	m := join(t, b, store, topic, topic)
	eventually(t, "all is read", func() bool { return store.count() == 5 })
	m.leave() // tells the group at last
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafkago.Client{Addr: kafkago.TCP(b.Addr), Transport: transport}
	answer, err := client.OffsetFetch(t.Context(), &kafkago.OffsetFetchRequest{GroupID: topic, Topics: map[string][]int{topic: {0}}})
	if err != nil || answer.Topics[topic][0].CommittedOffset != 5 {
		t.Fatalf("the group knows %+v (%v), want 5", answer, err)
	}
	// It is told, and never asked.
	if got := texts(read(t, m.source, topic+"/0", 4)); len(got) != 1 || got[0] != line(topic, 4, "event 4") {
		t.Errorf("from offset 4 on there is %v", got)
	}
}

// load writes until it is stopped.
type load struct {
	done    sync.WaitGroup
	end     context.CancelFunc
	written int
}

func startLoad(t *testing.T, b *kafkatest.Broker, topics []string) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{end: cancel}
	writers := make([]*kafka.Writer, len(topics))
	for i, topic := range topics {
		writers[i] = newWriter(t, b, topic)
	}
	l.done.Go(func() {
		for ctx.Err() == nil {
			for i := range topics {
				var list []string
				for n := range 10 {
					list = append(list, event(fmt.Sprintf("id-%d", l.written+n), fmt.Sprintf("web-%d", n), ""))
				}
				entry := ingest.Entry{Data: []byte("[" + strings.Join(list, ",") + "]")}
				// The write itself is not cut short: what is written is to be known.
				if _, err := writers[i].Write(context.WithoutCancel(ctx), "", entry); err != nil {
					t.Error(err)
					return
				}
				l.written += len(list)
			}
		}
	})
	t.Cleanup(l.stop)
	return l
}

func (l *load) stop() {
	l.end()
	l.done.Wait()
}

// check compares what was stored with what was written: everything once, and each object's events in order. What a broker
// that was killed did not acknowledge is written again, so rewritten allows for it.
func (l *load) check(t *testing.T, store *marks, rewritten bool) {
	t.Helper()
	store.mu.Lock()
	defer store.mu.Unlock()
	seen := make(map[string]int)
	last := make(map[string]int)
	for name, read := range store.read {
		for _, text := range read {
			events, skips := ingest.Decode(ingest.Entry{Data: []byte(text)})
			if len(events) != 1 {
				t.Fatalf("%s holds no event: %v", name, skips)
			}
			var n int
			if _, err := fmt.Sscanf(events[0].AuditID, "id-%d", &n); err != nil {
				t.Fatal(err)
			}
			seen[events[0].AuditID]++
			object := name + events[0].ObjectRef.Name
			if before, ok := last[object]; ok && n < before && !rewritten {
				t.Errorf("%s: %d comes after %d", object, n, before)
			}
			last[object] = n
		}
	}
	for n := range l.written {
		if seen[fmt.Sprintf("id-%d", n)] == 0 {
			t.Errorf("event %d was written and not read", n)
		}
	}
	for id, n := range seen {
		if n > 1 && !rewritten {
			t.Errorf("%s was read %d times", id, n)
		}
	}
	t.Logf("%d events", l.written)
}
