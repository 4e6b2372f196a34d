package kafka_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/vapshadow/vapshadow/internal/kafkatest"
)

// shared is the broker of all tests that do not kill it.
var shared struct {
	once   sync.Once
	dir    string
	broker *kafkatest.Broker
	err    error
}

func broker(t testing.TB) *kafkatest.Broker {
	t.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "vapshadow-kafka"); shared.err == nil { //nolint:usetesting // it outlives the test
			shared.broker, shared.err = kafkatest.Run(context.Background(), shared.dir, kafkatest.Options{Security: true})
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.broker
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.broker != nil {
		if err := shared.broker.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	_ = os.RemoveAll(shared.dir) // a temporary folder
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
