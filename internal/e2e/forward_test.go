package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/internal/kafkatest"
	"github.com/vapshadow/vapshadow/internal/pgtest"
)

// TestForward: a log goes through a forwarder, which is killed again and again, into a topic, and from there into
// Postgres.
func TestForward(t *testing.T) {
	want := baseline(t)
	broker := kafkatest.Start(t, kafkatest.Options{})
	store := pgtest.New(t)
	vapshadow(t, "migrate", "up", "--store", store)
	broker.CreateTopic(t, "audit", 4)
	dir := t.TempDir()
	log := filepath.Join(dir, "audit.log")
	forwarder := start(t, "forwarder", "forward", fmt.Sprintf(`
store: "sqlite:%s/forward.db"
listen: 127.0.0.1:0
sources: [{name: log, cluster: %s, file: {paths: [%q]}}]
forward: {brokers: [%q], topic: audit}
`, dir, clusterName, log, broker.Addr))
	serve(t, "service", kafkaConfig(store, broker.Addr, "audit"))
	w, lines := &rotatingLog{t: t, path: log}, recorded(t)
	random := rand.New(rand.NewPCG(7, 8))
	for len(lines) > 0 {
		n := min(len(lines), 1+random.IntN(200))
		w.write(lines[:n])
		lines = lines[n:]
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		if random.IntN(2) == 0 {
			forwarder.restart()
		}
		if random.IntN(4) == 0 {
			w.rotate()
		}
	}
	w.close()
	awaitStored(t, store, want.Ledger["Ingested "])
	forwarder.stop()
	awaitQuiet(t, store)
	sameButDuplicates(t, want, read(t, store))
}

// start starts a process with a configuration.
func start(t testing.TB, name, command, config string) *service {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".yaml")
	must(t, os.WriteFile(file, []byte(config), 0o600))
	return process(t, name, command, "--config", file)
}
