package e2e_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestWebhook posts batches as an apiserver does, again until they are answered with 200, while the service is killed
// again and again.
func TestWebhook(t *testing.T) {
	want := baseline(t)
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	must(t, os.WriteFile(token, []byte("secret"), 0o600))
	store, address := "sqlite:"+filepath.Join(dir, "served.db"), freeAddress(t)
	s := serve(t, "service", fmt.Sprintf(`
store: %q
listen: 127.0.0.1:0
policies: [%q]
clusters: [{name: %s, snapshot: [%q]}]
checkpointEvery: 300ms
sources: [{name: hook, webhook: {listen: %q, tokenFiles: [%q]}}]
`, store, absolute(recordedPolicies), clusterName, absolute(recordedCluster), address, token))
	stop := make(chan struct{})
	var killer sync.WaitGroup
	kills := 0
	killer.Go(func() {
		random := rand.New(rand.NewPCG(9, 10))
		for {
			select {
			case <-stop:
				return
			case <-time.After(1500*time.Millisecond + time.Duration(random.IntN(3000))*time.Millisecond):
				s.restart()
				kills++
			}
		}
	})
	var posts sync.WaitGroup
	slots := make(chan struct{}, 6)
	for _, body := range batches(recorded(t), 30) {
		slots <- struct{}{}
		posts.Go(func() {
			post(t, "http://"+address+"/audit/"+clusterName, body)
			<-slots
		})
	}
	posts.Wait()
	close(stop)
	killer.Wait()
	t.Logf("killed %d times", kills)
	s.stop()
	got := read(t, store)
	// What a process had seen since its last checkpoint is gone with it, where a webhook is all that there is: verdicts
	// that hang on it are Unknown, and no event is missing.
	if got.Ledger["Ingested "] != want.Ledger["Ingested "] || got.Ledger["Evaluated "] != want.Ledger["Evaluated "] {
		t.Errorf("ledger: want %v, got %v", want.Ledger, got.Ledger)
	}
}

// TestWebhookUndisturbed: without a crash the rows are those of a replay.
func TestWebhookUndisturbed(t *testing.T) {
	want := baseline(t)
	dir := t.TempDir()
	store, address := "sqlite:"+filepath.Join(dir, "served.db"), freeAddress(t)
	s := serve(t, "service", fmt.Sprintf(`
store: %q
listen: 127.0.0.1:0
policies: [%q]
clusters: [{name: %s, snapshot: [%q]}]
sources: [{name: hook, webhook: {listen: %q}}]
`, store, absolute(recordedPolicies), clusterName, absolute(recordedCluster), address))
	var posts sync.WaitGroup
	slots := make(chan struct{}, 8)
	for _, body := range batches(recorded(t), 100) {
		slots <- struct{}{}
		posts.Go(func() {
			post(t, "http://"+address+"/audit/"+clusterName, body)
			<-slots
		})
	}
	posts.Wait()
	s.stop()
	same(t, want, read(t, store))
}

// batches are EventLists of so many events each.
func batches(lines [][]byte, size int) (bodies [][]byte) {
	for len(lines) > 0 {
		n := min(size, len(lines))
		items := bytes.Join(lines[:n], []byte(","))
		bodies = append(bodies, append(append([]byte(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[`), items...), "]}"...))
		lines = lines[n:]
	}
	return bodies
}

// post posts a body until it is answered with 200.
func post(t testing.TB, url string, body []byte) {
	deadline := time.Now().Add(90 * time.Second)
	client := &http.Client{Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	for last := ""; ; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("not taken within 90 s: %s", last)
			return
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer secret")
		resp, err := client.Do(req)
		if err != nil {
			last = err.Error()
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
		last = resp.Status
	}
}

// freeAddress is one that nobody listens on just now.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
