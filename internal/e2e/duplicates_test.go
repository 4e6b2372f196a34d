package e2e_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// TestDuplicates: a third of the events is in the log a second time, some way further down, as shippers write them that
// got no reply. The store holds the rows of the log without them, whoever reads it.
func TestDuplicates(t *testing.T) {
	want := baseline(t)
	dir := t.TempDir()
	log := filepath.Join(dir, "audit.log")
	w := &rotatingLog{t: t, path: log}
	w.write(duplicated(recorded(t)))
	w.close()

	replayed := "sqlite:" + filepath.Join(dir, "replayed.db")
	vapshadow(t, "replay", "--quiet", "--cluster-name", clusterName, "--policies", recordedPolicies, "--cluster", recordedCluster,
		"--audit-log", log, "--store", replayed)
	sameButDuplicates(t, want, read(t, replayed))

	served := "sqlite:" + filepath.Join(dir, "served.db")
	s := serve(t, "service", fileConfig(served, log))
	awaitStored(t, served, want.Ledger["Ingested "]+int64(len(duplicated(recorded(t)))-len(recorded(t))))
	s.stop()
	sameButDuplicates(t, want, read(t, served))
}

func duplicated(lines [][]byte) [][]byte {
	random := rand.New(rand.NewPCG(13, 14))
	later := map[int][][]byte{}
	var out [][]byte
	for i, line := range lines {
		out = append(append(out, line), later[i]...)
		if at := i + 1 + random.IntN(300); random.IntN(3) == 0 && at < len(lines)-1 {
			later[at] = append(later[at], line)
		}
	}
	return out
}
