package kafkatest_test

import (
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/goleak"

	"github.com/vapshadow/vapshadow/internal/kafkatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What is written before a power cut is there after it, at the same address.
func TestKillAndRestart(t *testing.T) {
	b := kafkatest.Start(t, kafkatest.Options{Security: true})
	b.CreateTopic(t, "kept", 2, "retention.ms", "-1")
	write(t, b, "before")
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if conn, err := kafka.Dial("tcp", b.Addr); err == nil {
		_ = conn.Close()
		t.Fatal("a broker that was killed answers")
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, b, "after")
	conn, err := kafka.DialLeader(t.Context(), "tcp", b.Addr, "kept", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if end, err := conn.ReadLastOffset(); err != nil || end != 2 {
		t.Fatalf("the partition ends at %d (%v), want 2", end, err)
	}
}

func write(t *testing.T, b *kafkatest.Broker, value string) {
	t.Helper()
	conn, err := kafka.DialLeader(t.Context(), "tcp", b.Addr, "kept", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.WriteMessages(kafka.Message{Value: []byte(value)}); err != nil {
		t.Fatal(err)
	}
}
