package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/webhook"
)

// keeper stores deliveries as a pipeline does: each once, and now and then none.
type keeper struct {
	t testing.TB
	b *bench

	mu     sync.Mutex
	stored map[string][]byte // by delivery
	again  int               // deliveries that were stored already
	failed int
}

var errFlaky = errors.New("the store is away")

// keep takes deliveries until the context ends. It opens the partition anew at times, and stores several at a time.
func (k *keeper) keep(ctx context.Context) {
	var storing sync.WaitGroup
	defer storing.Wait()
	for n := 0; ctx.Err() == nil; n++ {
		s := k.b.open()
		for range 1 + rand.IntN(20) {
			c, err := s.Next(ctx)
			if err != nil {
				break
			}
			if c.Delivery != "" {
				storing.Go(func() { c.Done(k.store(c)) })
			}
		}
		if err := s.Close(); err != nil {
			k.t.Error(err)
		}
	}
}

func (k *keeper) store(c ingest.Chunk) error {
	time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.stored[c.Delivery]; ok {
		k.again++
		return nil
	}
	if rand.IntN(3) == 0 {
		k.failed++
		return errFlaky
	}
	k.stored[c.Delivery] = bytes.Clone(c.Entries[0].Data)
	if rand.IntN(5) == 0 {
		return errFlaky // the store has it, and could not say so
	}
	return nil
}

// apiserver sends a body until it is accepted. Like client-go it sends the same bytes again, whatever went wrong, after
// the time that it is asked to wait; here a thousandth of it.
func apiserver(ctx context.Context, b *bench, client *http.Client, path string, body []byte) error {
	for range 10_000 {
		patience, cancel := context.WithTimeout(ctx, time.Duration(1+rand.IntN(20))*time.Millisecond)
		got := do(client, b.request(path, body).WithContext(patience))
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case got.err != nil:
			continue
		case got.code == http.StatusOK:
			return nil
		case got.code != http.StatusTooManyRequests && got.code != http.StatusServiceUnavailable:
			return fmt.Errorf("code %d: %s", got.code, got.text)
		}
		seconds, err := strconv.Atoi(got.retry)
		if err != nil {
			return fmt.Errorf("code %d with Retry-After %q", got.code, got.retry)
		}
		time.Sleep(time.Duration(seconds) * time.Millisecond)
	}
	return errors.New("it was never accepted")
}

// TestEachBodyOnce: through a store that fails, clients that lose patience and a queue that is full, each body is
// stored once.
func TestEachBodyOnce(t *testing.T) {
	b := serve(t, func(cfg *webhook.Config) {
		cfg.MaxBodyBytes = 150
		cfg.MaxInFlightBytes = 300
	})
	k := &keeper{t: t, b: b, stored: make(map[string][]byte)}
	keeping, stop := context.WithCancel(t.Context())
	var keepers, servers sync.WaitGroup
	keepers.Go(func() { k.keep(keeping) })
	want := make(map[string]string)
	for i := range 8 {
		cluster := fmt.Sprintf("c%d", i%4)
		for j := range 12 {
			body := fmt.Sprintf(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{"remainingItemCount":%d},"items":[]}`, i*100+j)
			want[deliveryOf(cluster, body)] = body
		}
	}
	for i := range 8 {
		client := b.client()
		servers.Go(func() {
			for j := range 12 {
				body := fmt.Sprintf(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{"remainingItemCount":%d},"items":[]}`, i*100+j)
				if err := apiserver(t.Context(), b, client, fmt.Sprintf("/audit/c%d", i%4), []byte(body)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	servers.Wait()
	b.await("end", func(st webhook.Stats) bool { return st.InFlight == 0 && st.InFlightBytes == 0 })
	stop()
	keepers.Wait()
	got := make(map[string]string)
	for delivery, body := range k.stored {
		got[delivery] = string(body)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	st := b.source.Stats()
	t.Logf("%d failures, %d again, %+v", k.failed, k.again, st)
	if k.failed == 0 || k.again == 0 || st.Gone == 0 || st.Requests[http.StatusTooManyRequests] == 0 {
		t.Errorf("nothing went wrong: %d failures, %d again, %+v", k.failed, k.again, st)
	}
}

// TestRecordedBatches posts what an apiserver sent, and finds each of its events.
func TestRecordedBatches(t *testing.T) {
	data, err := os.ReadFile("../testdata/webhook-batches.json")
	must(t, err)
	var batches []json.RawMessage
	must(t, json.Unmarshal(data, &batches))
	b := serve(t, nil)
	var got, want []string
	for _, batch := range batches {
		var recorded struct {
			Items []struct {
				AuditID string `json:"auditID"`
			} `json:"items"`
		}
		must(t, json.Unmarshal(batch, &recorded))
		for _, item := range recorded.Items {
			want = append(want, item.AuditID)
		}
		replies := b.goPost("/audit/prod", string(batch))
		chunk := b.take()
		for _, e := range chunk.Entries {
			events, skips := ingest.Decode(e)
			for _, ev := range events {
				got = append(got, ev.AuditID)
			}
			if len(skips) > 0 {
				t.Errorf("skips %v", skips)
			}
		}
		chunk.Done(nil)
		if r := b.awaitReply(replies); r.code != http.StatusOK {
			t.Errorf("reply %+v", r)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("%d events (-want +got):\n%s", len(want), diff)
	}
}
