package e2e_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/internal/pgtest"
)

// TestTwoOnOneFile: two services that follow the same file into the same store are in each other's way all the time. What
// one has stored the other leaves alone, whichever of them is killed.
func TestTwoOnOneFile(t *testing.T) {
	want := baseline(t)
	store := pgtest.New(t)
	vapshadow(t, "migrate", "up", "--store", store)
	log := filepath.Join(t.TempDir(), "audit.log")
	config := fileConfig(store, log)
	// One makes smaller batches than the other, so that they do not go in step.
	services := []*service{serve(t, "one", config+"limits: {queueBytes: 100Ki}\n"), serve(t, "two", config)}
	w, lines := &rotatingLog{t: t, path: log}, recorded(t)
	random, third := rand.New(rand.NewPCG(11, 12)), len(recorded(t))/3
	for len(lines) > 0 {
		n := min(len(lines), 1+random.IntN(80))
		w.write(lines[:n])
		lines = lines[n:]
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		switch {
		case len(lines) < third:
			services[0].kill() // The other must not believe that what it lost to this one is stored.
		case len(lines) > 2*third && random.IntN(3) == 0:
			services[random.IntN(2)].restart()
		}
	}
	w.close()
	awaitStored(t, store, want.Ledger["Ingested "])
	services[1].stop()
	same(t, want, read(t, store))
}
