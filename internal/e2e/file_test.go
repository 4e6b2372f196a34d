package e2e_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/sink/connect"
)

// Checkpoints are rarer than what is stored, so that a start has to observe again what it must not count again.
const checkpointEvery = "5s"

// fileConfig follows a log.
func fileConfig(store, log string) string {
	return fmt.Sprintf(`
store: %q
listen: 127.0.0.1:0
policies: [%q]
clusters: [{name: %s, snapshot: [%q]}]
checkpointEvery: %s
sources:
  - name: log
    cluster: %s
    file: {paths: [%q]}
`, store, absolute(recordedPolicies), clusterName, absolute(recordedCluster), checkpointEvery, clusterName, log)
}

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return abs
}

// TestFileThroughRotation writes a log bit by bit, rotates it in each way, and kills the service again and again: the
// store holds the rows of a replay.
func TestFileThroughRotation(t *testing.T) {
	want := baseline(t)
	store := "sqlite:" + filepath.Join(t.TempDir(), "served.db")
	dir := t.TempDir()
	log := filepath.Join(dir, "audit.log")
	s := serve(t, "service", fileConfig(store, log))
	w := &rotatingLog{t: t, path: log}
	lines := recorded(t)
	random := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for i := 0; len(lines) > 0; i++ {
		n := min(len(lines), 1+random.IntN(30))
		w.write(lines[:n])
		lines = lines[n:]
		switch random.IntN(6) {
		case 0:
			w.rotate()
		case 1:
			w.rotate()
			w.compressLast()
		case 2, 3:
			time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
			s.restart()
			kills++
		}
		time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
	}
	w.close()
	awaitStored(t, store, want.Ledger["Ingested "])
	s.stop()
	t.Logf("killed %d times", kills)
	same(t, want, read(t, store))
}

// awaitStored waits until so much is stored.
func awaitStored(t testing.TB, store string, want int64) {
	t.Helper()
	db, err := connect.Open(t.Context(), store)
	for end := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(end); db, err = connect.Open(t.Context(), store) {
		time.Sleep(100 * time.Millisecond) // the service makes it
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	eventually(t, 90*time.Second, fmt.Sprintf("%d events are stored", want), func() (bool, string) {
		n, err := ingested(t.Context(), db)
		return err == nil && n >= want, fmt.Sprintf("%d, error %v", n, err)
	})
}

// awaitQuiet waits until nothing more comes.
func awaitQuiet(t testing.TB, store string) {
	t.Helper()
	db, err := connect.Open(t.Context(), store)
	must(t, err)
	defer func() { _ = db.Close() }()
	before, since := int64(-1), time.Now()
	eventually(t, 60*time.Second, "nothing more comes", func() (bool, string) {
		n, err := ingested(t.Context(), db)
		if err != nil || n != before {
			before, since = n, time.Now()
		}
		return time.Since(since) > 5*time.Second, fmt.Sprintf("%d, error %v", n, err)
	})
}

// rotatingLog writes a log as an apiserver does.
type rotatingLog struct {
	t    *testing.T
	path string
	file *os.File
	last string // the file that was rotated last
	n    int
}

func (w *rotatingLog) write(lines [][]byte) {
	w.t.Helper()
	if w.file == nil {
		f, err := os.OpenFile(w.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			w.t.Fatal(err)
		}
		w.file = f
	}
	data := bytes.Join(lines, nil)
	if !bytes.HasSuffix(data, []byte("\n")) {
		data = append(data, '\n')
	}
	for len(data) > 0 { // a line may be seen half-written
		n := min(len(data), 50_000)
		if _, err := w.file.Write(data[:n]); err != nil {
			w.t.Fatal(err)
		}
		data = data[n:]
	}
}

// rotate moves the file out of the way, as lumberjack does.
func (w *rotatingLog) rotate() {
	w.t.Helper()
	w.close()
	w.n++
	at := time.Date(2026, 11, 21, 0, 0, w.n, 0, time.UTC)
	w.last = filepath.Join(filepath.Dir(w.path), "audit-"+at.Format("2006-01-02T15-04-05.000")+".log")
	if err := os.Rename(w.path, w.last); err != nil {
		w.t.Fatal(err)
	}
}

// compressLast compresses what was rotated last, and takes it away.
func (w *rotatingLog) compressLast() {
	w.t.Helper()
	data, err := os.ReadFile(w.last)
	if err != nil {
		w.t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(data); err != nil {
		w.t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.last+".gz", packed.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Remove(w.last); err != nil {
		w.t.Fatal(err)
	}
}

func (w *rotatingLog) close() {
	w.t.Helper()
	if w.file == nil {
		return
	}
	if err := w.file.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.file = nil
}
