package webhook_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/webhook"
)

const list = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[]}`

func deliveryOf(cluster, body string) string {
	sum := sha256.Sum256([]byte(cluster + "\x00" + body))
	return hex.EncodeToString(sum[:])
}

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	must(t, errors.Join(err, w.Close()))
	return b.Bytes()
}

func TestAnswerWhenStored(t *testing.T) {
	for _, c := range []struct {
		name, path, cluster string
		zip, http1          bool
	}{
		{name: "cluster in the path", path: "/audit/prod", cluster: "prod"},
		{name: "slash at the end", path: "/audit/prod/?timeout=30s", cluster: "prod"},
		{name: "default cluster", path: "/audit", cluster: "home"},
		{name: "gzip", path: "/audit/prod", cluster: "prod", zip: true},
		{name: "HTTP/1.1", path: "/audit/prod", cluster: "prod", http1: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := serve(t, func(cfg *webhook.Config) { cfg.DefaultCluster = "home" })
			client, body := b.client(), []byte(list)
			if c.http1 {
				client.Transport.(*http.Transport).ForceAttemptHTTP2 = false
			}
			if c.zip {
				body = zipped(t, list)
			}
			r := b.request(c.path, body)
			if c.zip {
				r.Header.Set("Content-Encoding", "gzip")
			}
			replies := make(chan reply, 1)
			go func() { replies <- do(client, r) }()
			chunk := b.take()
			if st := b.source.Stats(); st.InFlight != 1 || st.InFlightBytes != int64(len(list)) {
				t.Errorf("while it is stored: %+v", st)
			}
			select {
			case got := <-replies:
				t.Fatalf("answered before it is stored: %+v", got)
			case <-time.After(20 * time.Millisecond):
			}
			chunk.Done(nil)
			if got := b.awaitReply(replies); got.code != http.StatusOK || got.err != nil {
				t.Errorf("reply %+v", got)
			}
			chunk.Done = nil
			want := ingest.Chunk{
				Entries:  []ingest.Entry{{Data: []byte(list), At: ingest.Position{Source: "webhook/" + c.cluster}}},
				Ends:     []ingest.Mark{{}},
				Cluster:  c.cluster,
				CaughtUp: true,
				Delivery: deliveryOf(c.cluster, list),
			}
			if diff := cmp.Diff(want, chunk); diff != "" {
				t.Errorf("chunk (-want +got):\n%s", diff)
			}
			if st := b.source.Stats(); st.InFlight != 0 || st.InFlightBytes != 0 || st.Requests[http.StatusOK] != 1 {
				t.Errorf("in the end: %+v", st)
			}
		})
	}
}

func TestStoreFails(t *testing.T) {
	b := serve(t, func(cfg *webhook.Config) { cfg.RetryAfter = 3 * time.Second })
	replies := b.goPost("/audit/prod", list)
	first := b.take()
	first.Done(errors.New("the disk of the store is full of secrets"))
	want := reply{code: http.StatusServiceUnavailable, text: "the events could not be stored\n", retry: "3"}
	if got := b.awaitReply(replies); got != want {
		t.Errorf("reply %+v, want %+v", got, want)
	}
	replies = b.goPost("/audit/prod", list)
	second := b.take()
	second.Done(nil)
	if got := b.awaitReply(replies); got.code != http.StatusOK {
		t.Errorf("reply %+v", got)
	}
	if first.Delivery != second.Delivery {
		t.Error("the same request is another delivery")
	}
}

func TestFull(t *testing.T) {
	b := serve(t, func(cfg *webhook.Config) {
		cfg.MaxBodyBytes = 100
		cfg.MaxInFlightBytes = 100
	})
	replies := b.goPost("/audit/prod", list)
	chunk := b.take()
	got := b.post("/audit/other", list)
	if want := (reply{code: http.StatusTooManyRequests, text: "too much is under way\n", retry: "1"}); got != want {
		t.Errorf("reply %+v, want %+v", got, want)
	}
	chunk.Done(nil)
	b.awaitReply(replies)
	b.store()
	if got := b.post("/audit/other", list); got.code != http.StatusOK {
		t.Errorf("with room again: %+v", got)
	}
}

func TestSameBodyWaitsForTheFirst(t *testing.T) {
	for _, outcome := range []error{nil, errors.New("no")} {
		b := serve(t, nil)
		first := b.goPost("/audit/prod", list)
		chunk := b.take()
		second := b.goPost("/audit/prod", list)
		b.await("second request", func(st webhook.Stats) bool { return st.Joined == 1 })
		if st := b.source.Stats(); st.InFlight != 1 || st.Queued != 0 || st.InFlightBytes != int64(len(list)) {
			t.Errorf("both under way: %+v", st)
		}
		chunk.Done(outcome)
		a, c := b.awaitReply(first), b.awaitReply(second)
		if a != c || (a.code == http.StatusOK) != (outcome == nil) {
			t.Errorf("replies %+v and %+v for %v", a, c, outcome)
		}
		must(t, ignoreCanceled(b.stop()))
	}
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func TestClientGone(t *testing.T) {
	for _, http1 := range []bool{false, true} {
		b := serve(t, nil)
		client := b.client()
		client.Transport.(*http.Transport).ForceAttemptHTTP2 = !http1
		ctx, cancel := context.WithCancel(t.Context())
		replies := make(chan reply, 1)
		r := b.request("/audit/prod", []byte(list)).WithContext(ctx)
		go func() { replies <- do(client, r) }()
		b.await("delivery", func(st webhook.Stats) bool { return st.Queued == 1 })
		cancel()
		b.awaitReply(replies)
		b.await("leaving", func(st webhook.Stats) bool { return st.Gone == 1 })
		chunk := b.take()
		again := b.goPost("/audit/prod", list)
		b.await("second try", func(st webhook.Stats) bool { return st.Joined == 1 })
		chunk.Done(nil)
		if got := b.awaitReply(again); got.code != http.StatusOK {
			t.Errorf("reply %+v", got)
		}
		if st := b.source.Stats(); st.Queued != 0 || st.InFlight != 0 {
			t.Errorf("it is there twice: %+v", st)
		}
	}
}

func TestStoreTakesTooLong(t *testing.T) {
	b := serve(t, func(cfg *webhook.Config) { cfg.StoreTimeout = 10 * time.Millisecond })
	got := b.post("/audit/prod", list)
	if got.code != http.StatusServiceUnavailable || got.retry != "1" {
		t.Errorf("reply %+v", got)
	}
	// What nobody waits for is still stored.
	b.take().Done(nil)
	b.await("end", func(st webhook.Stats) bool { return st.InFlight == 0 })
}

func TestShutdown(t *testing.T) {
	b := serve(t, nil)
	taken := b.goPost("/audit/taken", list)
	chunk := b.take()
	queued := b.goPost("/audit/queued", list)
	b.await("second delivery", func(st webhook.Stats) bool { return st.Queued == 1 })
	ended := make(chan error, 1)
	go func() { ended <- b.stop() }()
	if got := b.awaitReply(queued); got.code != http.StatusServiceUnavailable || got.retry != "1" {
		t.Errorf("what waits: %+v", got)
	}
	select {
	case err := <-ended:
		t.Fatalf("it ends with a delivery under way: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	chunk.Done(nil)
	if got := b.awaitReply(taken); got.code != http.StatusOK {
		t.Errorf("what is under way: %+v", got)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if got := b.post("/audit/late", list); got.err == nil {
		t.Errorf("after the end: %+v", got)
	}
}

func TestShutdownDoesNotWaitForEver(t *testing.T) {
	b := serve(t, func(cfg *webhook.Config) { cfg.DrainTimeout = 10 * time.Millisecond })
	replies := b.goPost("/audit/prod", list)
	b.take()
	if err := b.stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if got := b.awaitReply(replies); got.code == http.StatusOK {
		t.Errorf("reply %+v", got)
	}
}

func TestNextReturnsWithNothing(t *testing.T) {
	b := serve(t, nil)
	c, err := b.open().Next(t.Context())
	if diff := cmp.Diff(ingest.Chunk{CaughtUp: true}, c); diff != "" || err != nil {
		t.Errorf("%v, chunk (-want +got):\n%s", err, diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.open().Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := b.source.Open(t.Context(), "other", ingest.Mark{}); err == nil {
		t.Error("another partition opens")
	}
}
