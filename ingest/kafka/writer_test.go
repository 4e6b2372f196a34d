package kafka_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/kafka"
	"github.com/vapshadow/vapshadow/internal/kafkatest"
)

func newWriter(t *testing.T, b *kafkatest.Broker, topic string) *kafka.Writer {
	t.Helper()
	w, err := kafka.NewWriter(kafka.WriterConfig{Access: access(b), Topic: topic})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// event is written oddly on purpose: its bytes have to come out as they went in.
func event(id, name, subresource string) string {
	return fmt.Sprintf(`{"auditID": %q, "kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","unknown":1.50,`+
		`"verb":"update","objectRef":{"resource":"deployments","apiGroup":"apps","namespace":"shop","name":%q,"subresource":%q},`+
		`"requestObject":{"a":1,"a":2.0}}`, id, name, subresource)
}

func TestWriteKeyedByObject(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 8)
	w := newWriter(t, b, topic)
	want := make(map[string][]string) // by object
	var list []string
	for i := range 40 {
		name, sub := fmt.Sprintf("web-%d", i%10), []string{"", "scale"}[i/10%2]
		ev := event(fmt.Sprintf("id-%d", i), name, sub)
		list = append(list, ev)
		want[name] = append(want[name], ev)
	}
	entry := ingest.Entry{Data: []byte(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[` + strings.Join(list, ",\n") + `, {"kind":"Pod"}]}`)}
	written, err := w.Write(t.Context(), "east", entry)
	if err != nil || written.Events != 40 || len(written.Skips) != 1 || written.Skips[0].Reason != ingest.NotAnEvent {
		t.Fatalf("got %+v, %v", written, err)
	}
	s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}, ClusterHeader: kafka.DefaultClusterHeader})
	got := make(map[string][]string)
	partitions := 0
	for p := range 8 {
		here := make(map[string][]string)
		for _, c := range read(t, s, fmt.Sprintf("%s/%d", topic, p), 0) {
			if c.Cluster != "east" {
				t.Errorf("a chunk is of cluster %q", c.Cluster)
			}
			for _, e := range c.Entries {
				events, _ := ingest.Decode(e)
				name := events[0].ObjectRef.Name
				here[name] = append(here[name], string(e.Data))
			}
		}
		partitions += min(len(here), 1)
		for name, events := range here {
			got[name] = append(got[name], events...)
			if len(events) != len(want[name]) {
				t.Errorf("partition %d has %d of the %d events of %s", p, len(events), len(want[name]), name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if partitions < 2 {
		t.Errorf("all objects are in %d partition", partitions)
	}
}

func TestKey(t *testing.T) {
	for name, tt := range map[string]struct {
		event ingest.Event
		want  string
	}{
		"object":      {ingest.Event{ObjectRef: &ingest.ObjectReference{APIGroup: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}}, "east/apps/deployments/shop/web"},
		"subresource": {ingest.Event{ObjectRef: &ingest.ObjectReference{Resource: "pods", Namespace: "shop", Name: "web", Subresource: "status"}}, "east//pods/shop/web"},
		"cluster":     {ingest.Event{ObjectRef: &ingest.ObjectReference{Resource: "nodes", Name: "n"}}, "east//nodes//n"},
		"generated": {ingest.Event{Verb: "create", ObjectRef: &ingest.ObjectReference{Resource: "pods", Namespace: "shop"},
			RequestObject:  []byte(`{"metadata":{"generateName":"web-"}}`),
			ResponseObject: []byte(`{"metadata":{"generateName":"web-","name":"web-x7"}}`)}, "east//pods/shop/web-x7"},
		"refused": {ingest.Event{Verb: "create", ObjectRef: &ingest.ObjectReference{Resource: "pods", Namespace: "shop"},
			RequestObject:  []byte(`{"metadata":{"name":"old","name":"web"}}`),
			ResponseObject: []byte(`{"kind":"Status","metadata":{}}`)}, "east//pods/shop/web"},
		"odd body": {ingest.Event{Verb: "create", ObjectRef: &ingest.ObjectReference{Resource: "pods", Namespace: "shop"},
			RequestObject: []byte(`[1]`)}, "east//pods/shop/"},
		"no object": {ingest.Event{AuditID: "id"}, "id"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kafka.Key("east", &tt.event); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Large events go between small ones of the same object, and come out in the order that they went in.
func TestWriteLargeInOrder(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 1, "max.message.bytes", "20000000")
	w := newWriter(t, b, topic)
	var list []string
	for i := range 9 {
		ev := event(fmt.Sprintf("id-%d", i), "web", "")
		if i%3 == 1 {
			ev = strings.Replace(ev, `"a":1`, fmt.Sprintf(`"a":%q`, fmt.Sprintf("%x", noise(2<<20))), 1)
		}
		list = append(list, ev)
	}
	written, err := w.Write(t.Context(), "", ingest.Entry{Data: []byte("[" + strings.Join(list, ",") + "]")})
	if err != nil || written.Events != len(list) {
		t.Fatalf("got %+v, %v", written, err)
	}
	s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}, Clusters: map[string]string{topic: "west"}})
	var got []string
	for _, c := range read(t, s, topic+"/0", 0) {
		if c.Cluster != "west" {
			t.Errorf("a chunk is of cluster %q", c.Cluster)
		}
		for _, e := range c.Entries {
			got = append(got, string(bytes.Clone(e.Data)))
		}
	}
	if !slices.Equal(got, list) {
		t.Error("the events are not in the order that they were written in")
	}
}

func TestWriteRefused(t *testing.T) {
	b := broker(t)
	small := topicOf(t, b, 1, "max.message.bytes", "1000")
	large := strings.Replace(event("id", "web", ""), `"a":1`, fmt.Sprintf(`"a":%q`, fmt.Sprintf("%x", noise(4000))), 1)
	for name, tt := range map[string]struct {
		config kafka.WriterConfig
		want   string
	}{
		"by the topic":  {kafka.WriterConfig{Access: access(b), Topic: small}, "max.message.bytes"},
		"by the writer": {kafka.WriterConfig{Access: access(b), Topic: small, MaxBytes: 4000}, "MaxBytes (4000)"},
		"no topic":      {kafka.WriterConfig{Access: access(b), Topic: "none-such"}, "Unknown Topic"},
		"wrong password": {kafka.WriterConfig{Topic: small, Access: kafka.Access{Brokers: []string{b.AddrOf(kafkatest.SASL)},
			SASL: &kafka.SASL{Mechanism: kafka.ScramSHA256, Username: kafkatest.User, Password: "a wrong one"}}}, "SASL Authentication Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := kafka.NewWriter(tt.config)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			written, err := w.Write(t.Context(), "", ingest.Entry{Data: []byte(large)})
			if err == nil || !strings.Contains(err.Error(), tt.want) || written.Events != 0 {
				t.Fatalf("got %+v, %v, want %s", written, err, tt.want)
			}
			if strings.Contains(err.Error(), "a wrong one") || strings.Contains(err.Error(), fmt.Sprintf("%x", noise(20))) {
				t.Error("the error holds the password, or the object")
			}
		})
	}
}

// A chunk is of one cluster: where the header changes, the next begins.
func TestClusterHeader(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 1)
	var messages []kafkago.Message
	for i, cluster := range []string{"east", "east", "", "west", "east"} {
		m := kafkago.Message{Value: fmt.Append(nil, i)}
		if cluster != "" {
			m.Headers = []kafkago.Header{{Key: "other", Value: []byte("x")}, {Key: "from", Value: []byte(cluster)}}
		}
		messages = append(messages, m)
	}
	produce(t, b, &kafkago.Writer{Topic: topic}, messages...)
	s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}, ClusterHeader: "from",
		Clusters: map[string]string{topic: "home"}})
	var got []string
	behind := make(map[int64]bool)
	for _, c := range read(t, s, topic+"/0", 0) {
		for i, e := range c.Entries {
			got = append(got, fmt.Sprintf("%s %s>%d", c.Cluster, e.Data, c.Ends[i].Offset))
		}
		behind[c.Behind] = true
	}
	if diff := cmp.Diff([]string{"east 0>1", "east 1>2", "home 2>3", "west 3>4", "east 4>5"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{0, 1, 2, 3}, slices.Sorted(maps.Keys(behind))); diff != "" {
		t.Errorf("behind the chunks: %s", diff)
	}
}
