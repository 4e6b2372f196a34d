package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/internal/kafkatest"
	"github.com/vapshadow/vapshadow/internal/pgtest"
)

// kafkaConfig reads a topic.
func kafkaConfig(store, broker, topic string) string {
	return fmt.Sprintf(`
name: %[3]s
store: %[1]q
listen: 127.0.0.1:0
policies: [%[4]q]
clusters: [{name: %[6]s, snapshot: [%[5]q]}]
checkpointEvery: %[7]s
sources:
  - name: kafka
    cluster: %[6]s
    kafka: {brokers: [%[2]q], topics: [%[3]q], group: %[3]s}
log: {level: debug}
`, store, broker, topic, absolute(recordedPolicies), absolute(recordedCluster), clusterName, checkpointEvery)
}

// objectKey is the key by which events of one object go to one partition.
func objectKey(t testing.TB, line []byte) []byte {
	t.Helper()
	var ev struct {
		AuditID   string
		ObjectRef *struct{ APIGroup, Resource, Namespace, Name string }
		Response  struct{ Metadata struct{ Name string } } `json:"responseObject"`
	}
	if err := json.Unmarshal(line, &ev); err != nil {
		t.Fatal(err)
	}
	if ev.ObjectRef == nil {
		return []byte(ev.AuditID)
	}
	name := ev.ObjectRef.Name
	if name == "" {
		name = ev.Response.Metadata.Name
	}
	return []byte(strings.Join([]string{ev.ObjectRef.APIGroup, ev.ObjectRef.Resource, ev.ObjectRef.Namespace, name}, "/"))
}

// messages are the lines of the recording.
func messages(t testing.TB, lines [][]byte, keyed bool) []kafka.Message {
	t.Helper()
	out := make([]kafka.Message, len(lines))
	for i, line := range lines {
		out[i].Value = line
		if keyed {
			out[i].Key = objectKey(t, line)
		}
	}
	return out
}

func newWriter(t testing.TB, broker, topic string, keyed bool) *kafka.Writer {
	t.Helper()
	w := &kafka.Writer{
		Addr: kafka.TCP(broker), Topic: topic, RequiredAcks: kafka.RequireAll, BatchTimeout: 5 * time.Millisecond,
		Balancer: &kafka.RoundRobin{}, MaxAttempts: 30, Transport: &kafka.Transport{MetadataTTL: time.Second},
	}
	if keyed {
		w.Balancer = &kafka.Hash{}
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// TestKafka: two services that share a topic store what a replay stores, whether the topic is keyed by object or not.
func TestKafka(t *testing.T) {
	want := baseline(t)
	broker := kafkatest.Start(t, kafkatest.Options{})
	for _, keyed := range []bool{true, false} {
		t.Run(fmt.Sprintf("keyed=%t", keyed), func(t *testing.T) {
			store := pgtest.New(t)
			vapshadow(t, "migrate", "up", "--store", store)
			topic := fmt.Sprintf("audit-%t", keyed)
			broker.CreateTopic(t, topic, 4)
			one := serve(t, "one", kafkaConfig(store, broker.Addr, topic))
			two := serve(t, "two", kafkaConfig(store, broker.Addr, topic))
			if err := newWriter(t, broker.Addr, topic, keyed).WriteMessages(t.Context(), messages(t, recorded(t), keyed)...); err != nil {
				t.Fatal(err)
			}
			awaitStored(t, store, want.Ledger["Ingested "])
			one.stop()
			two.stop()
			same(t, want, read(t, store))
		})
	}
}

// TestKafkaKilled kills two services at random moments, again and again, while the topic is written.
func TestKafkaKilled(t *testing.T) {
	const kills = 50
	want := baseline(t)
	broker := kafkatest.Start(t, kafkatest.Options{})
	store := pgtest.New(t)
	vapshadow(t, "migrate", "up", "--store", store)
	broker.CreateTopic(t, "audit", 4)
	services := []*service{serve(t, "one", kafkaConfig(store, broker.Addr, "audit")), serve(t, "two", kafkaConfig(store, broker.Addr, "audit"))}
	w, all := newWriter(t, broker.Addr, "audit", true), messages(t, recorded(t), true)
	random := rand.New(rand.NewPCG(3, 4))
	for i := range kills {
		n := len(all) / (kills - i)
		if err := w.WriteMessages(t.Context(), all[:n]...); err != nil {
			t.Fatal(err)
		}
		all = all[n:]
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
		services[random.IntN(2)].restart()
	}
	awaitStored(t, store, want.Ledger["Ingested "])
	for _, s := range services {
		s.stop()
	}
	same(t, want, read(t, store))
}
