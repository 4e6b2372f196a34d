package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
	"github.com/vapshadow/vapshadow/sink/sinktest"
)

// TestServeOnFullDisk: a service whose file cannot grow says so, goes on when there is room, and has lost nothing.
func TestServeOnFullDisk(t *testing.T) {
	var maxPages atomic.Int64
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, dsn string) error {
		if !strings.Contains(dsn, "small-disk.db") || maxPages.Load() == 0 {
			return nil
		}
		_, err := conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", maxPages.Load()), nil)
		return err
	})
	dir := t.TempDir()
	replayed, served := "sqlite:"+filepath.Join(dir, "replayed.db"), "sqlite:"+filepath.Join(dir, "small-disk.db")
	policies, cluster := examples+"/policies", examples+"/cluster"
	command(t, "replay", "--policies", policies, "--cluster", cluster, "--audit-log", examples+"/audit.log.gz", "--cluster-name", "test", "--store", replayed)
	command(t, "migrate", "up", "--store", served)
	config := filepath.Join(dir, "config.yaml")
	save(t, config, fmt.Sprintf(`
store: %q
listen: 127.0.0.1:0
policies: [%q]
clusters: [{name: test, snapshot: [%q]}]
sources:
  - name: log
    cluster: test
    file: {paths: [%q]}
`, served, absolute(t, policies), absolute(t, cluster), unpacked(t, dir)))

	maxPages.Store(60) // some more than an empty file has
	ctx, stop := context.WithCancel(t.Context())
	var log safeBuffer
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"serve", "--config", config}, func(string) string { return "" }, stdio{in: strings.NewReader(""), out: io.Discard, err: &log})
	}()
	var address string
	await(t, &log, "an address", func() bool {
		if found := regexp.MustCompile(`listening.*address=(\S+)`).FindStringSubmatch(log.String()); found != nil {
			address = "http://" + found[1]
		}
		return address != ""
	})
	await(t, &log, "not ready", func() bool {
		code, body := ask(t, address+"/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "storing fails") && strings.Contains(body, "full")
	})
	if code, body := ask(t, address+"/healthz"); code != http.StatusOK {
		t.Errorf("a full disk is no reason to begin anew: %d %s", code, body)
	}
	if _, body := ask(t, address+"/metrics"); !regexp.MustCompile(`(?m)^vapshadow_commit_errors_total [1-9]`).MatchString(body) {
		t.Error("the metrics count no error")
	}
	maxPages.Store(0)
	want, got := tables(t, replayed), sinktest.Tables{}
	await(t, &log, "all rows", func() bool {
		got = tables(t, served)
		return len(got.Failures) >= len(want.Failures) && len(got.Rollups) >= len(want.Rollups)
	})
	await(t, &log, "ready", func() bool { code, _ := ask(t, address+"/readyz"); return code == http.StatusOK })
	stop()
	if code := <-ended; code != exitDone {
		t.Errorf("serve ends with %d:\n%s", code, log.String())
	}
	got = tables(t, served)
	for _, diff := range []string{cmp.Diff(want.Failures, got.Failures), cmp.Diff(want.Rollups, got.Rollups), cmp.Diff(want.Annotations, got.Annotations)} {
		if diff != "" {
			t.Errorf("the rows differ (- replayed, + served):\n%.2000s", diff)
		}
	}
}

// unpacked is the log of the examples as a file that can be followed.
func unpacked(t *testing.T, dir string) string {
	t.Helper()
	packed, err := os.Open(examples + "/audit.log.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "audit.log")
	save(t, path, string(text))
	return path
}

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func tables(t *testing.T, url string) sinktest.Tables {
	t.Helper()
	db, err := connect.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return sinktest.Read(t, db, sink.Filter{})
}

func ask(t *testing.T, url string) (code int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

// await waits until something is so.
func await(t *testing.T, log *safeBuffer, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for: %s\n%s", what, log.String())
		}
	}
}

// safeBuffer is written to by one goroutine and read by another.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
