package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/internal/kafkatest"
	"github.com/vapshadow/vapshadow/internal/pgtest"
)

// TestBackpressure: while the store is stopped, a service that has ten times more to read than it may hold stays as large
// as it is, and goes on once the store is back.
func TestBackpressure(t *testing.T) {
	const copies, queueMiB, mayGrow = 24, 4, 256 << 20
	broker := kafkatest.Start(t, kafkatest.Options{})
	db := pgtest.Start(t, pgtest.Config{})
	store := db.Database(t)
	vapshadow(t, "migrate", "up", "--store", store)
	broker.CreateTopic(t, "audit", 4)
	s := serve(t, "service", kafkaConfig(store, broker.Addr, "audit")+fmt.Sprintf("limits: {queueBytes: %dMi}\n", queueMiB))
	w := newWriter(t, broker.Addr, "audit", true)
	first := copyOf(recorded(t), 0)
	writePatiently(t, w, messages(t, first, true))
	awaitStored(t, store, int64(len(first)))
	before := s.resident()

	must(t, db.Stop(pgtest.Fast))
	total := 0
	for n := range copies {
		lines := copyOf(recorded(t), n+1)
		for _, line := range lines {
			total += len(line)
		}
		writePatiently(t, w, messages(t, lines, true))
	}
	if total < 10*queueMiB<<20 {
		t.Fatalf("only %d MiB are waiting", total>>20)
	}
	largest := int64(0)
	for range 40 {
		largest = max(largest, s.resident())
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("resident: %d MiB at work, %d MiB at most with %d MiB waiting and the store stopped", before>>20, largest>>20, total>>20)
	if largest > before+mayGrow {
		t.Errorf("the service grew by %d MiB", (largest-before)>>20)
	}

	must(t, db.Start())
	begun := time.Now()
	awaitStored(t, store, int64((copies+1)*len(first)))
	t.Logf("%d events stored in %s after the store was back", copies*len(first), time.Since(begun).Round(100*time.Millisecond))
	s.stop()
	read(t, store)
}

// copyOf gives the events of a log other audit IDs.
func copyOf(lines [][]byte, n int) [][]byte {
	out := make([][]byte, len(lines))
	for i, line := range lines {
		out[i] = bytes.Replace(line, []byte(`"auditID":"`), fmt.Appendf(nil, `"auditID":"%d-`, n), 1)
	}
	return out
}

// resident is how much memory a process has, in bytes.
func (s *service) resident() int64 {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	must(s.t, err)
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			must(s.t, err)
			return kib << 10
		}
	}
	s.t.Fatal("no VmRSS")
	return 0
}
