package ingest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/ingest"
)

// bomb compresses a text that is repeated until it is long.
func bomb(t testing.TB, text string, long int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.CopyN(w, &repeated{text: strings.Repeat(text, 4096), each: func() {}}, long); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A small entry cannot take much memory, and what was too much of it is a skip.
func TestHostileEntries(t *testing.T) {
	awslogs := func(data []byte) []byte {
		return []byte(`{"awslogs":{"data":"` + base64.StdEncoding.EncodeToString(data) + `"}}`)
	}
	long := bomb(t, "x", 80<<20)
	for _, c := range []struct {
		name  string
		data  []byte
		skips []ingest.SkipReason // the last of them
	}{
		{"gzip of a long line", long, reasons(ingest.TooLarge)},
		{"gzip of a long value", gzipped(append([]byte(`{"log":"`), long...)), reasons(ingest.InvalidJSON)},
		{"gzip of white space", bomb(t, " ", 80<<20), reasons(ingest.TooLarge)},
		{"gzip of many lines", bomb(t, "1\n", 1<<20), reasons(ingest.NotAnEvent, ingest.TooLarge)},
		{"gzip of many events", bomb(t, item("a")+"\n", 32<<20), reasons(ingest.TooLarge)},
		{"gzip in base64", awslogs(long), reasons(ingest.TooLarge)},
		{"gzip in gzip", gzipped(long), reasons(ingest.TooLarge)},
		{"much gzip in one list", []byte(`[` + strings.Repeat(string(awslogs(bomb(t, " ", 30<<20)))+`,`, 4) + `0]`),
			reasons(ingest.TooLarge, ingest.NotAnEvent)},
		{"many elements", []byte("[" + strings.Repeat("1,", 300_000) + "1]"),
			reasons(ingest.TooLarge)},
		{"deep objects", []byte(strings.Repeat(`{"log":`, 20_000) + `1` + strings.Repeat(`}`, 20_000)), reasons(ingest.TooDeep)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			events, skips := ingest.Decode(ingest.Entry{Data: c.data, At: at})
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 600<<20 {
				t.Errorf("%d MiB for an entry of %d KiB", used>>20, len(c.data)>>10)
			}
			if n := len(events) + len(skips); n == 0 || n > 100_001 {
				t.Errorf("%d events and %d skips", len(events), len(skips))
			}
			_, got := outcome(nil, skips[max(0, len(skips)-len(c.skips)):])
			if diff := cmp.Diff(c.skips, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// What is an event, though a bad one, is not searched for another; what says one thing twice is not taken by half.
func TestEnvelopeRefused(t *testing.T) {
	inner, _ := json.Marshal(item("inner"))
	message := `"message":` + string(inner)
	for _, c := range []struct {
		name, data string
		ids        []string
		skips      []ingest.SkipReason
	}{
		{name: "invalid event", data: event(`"auditID":"a","verb":5,` + message), skips: reasons(ingest.InvalidEvent)},
		{name: "invalid event without ID", data: event(`"verb":5,` + message), skips: reasons(ingest.InvalidEvent)},
		{name: "invalid item", data: `{"auditID":"a","stage":"x","verb":5,` + message + `}`, skips: reasons(ingest.InvalidEvent)},
		{name: "event without ID", data: event(message), skips: reasons(ingest.NoAuditID)},
		{name: "old event", data: `{"kind":"Event","apiVersion":"audit.k8s.io/v1beta1",` + message + `}`,
			skips: reasons(ingest.UnsupportedVersion)},
		{name: "event with a record's keys", data: event(`"auditID":"a",` + message), ids: []string{"a"}},
		{name: "two messages", data: `{` + message + `,` + message + `}`, skips: reasons(ingest.DuplicateKey)},
		{name: "message and log", data: `{` + message + `,"log":` + string(inner) + `}`, ids: []string{"inner"}},
		{name: "types that clash", data: `{"user":"jane","level":3,` + message + `}`, ids: []string{"inner"}},
		{name: "a record that is no Unicode", data: "{\"host\":\"\xff\"," + message + `}`, ids: []string{"inner"}},
		{name: "a name that is no Unicode", data: "{\"log\":\"{\\\"stage\\\":\\\"x\\\",\\\"auditID\\\":\\\"a\xff\\\"}\"}",
			skips: reasons(ingest.InvalidUTF8)},
		{name: "a body that is no Unicode",
			data: "{\"log\":\"{\\\"stage\\\":\\\"x\\\",\\\"auditID\\\":\\\"a\\\",\\\"requestObject\\\":{\\\"x\\\":\\\"\xff\\\"}}\"}",
			ids:  []string{"a"}},
		{name: "an object of Kubernetes", data: `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"data":{"log":"{}"}}]}`,
			skips: reasons(ingest.NotAnEvent)},
		{name: "an object of Kubernetes with records", data: `{"kind":"Zone","records":[` + item("a") + `]}`,
			skips: reasons(ingest.NotAnEvent)},
		{name: "an empty envelope", data: `{"message":"[]"}`, skips: reasons(ingest.NotAnEvent)},
		{name: "an empty list in an envelope", data: `{"message":` + quoted(list()) + `}`, skips: reasons(ingest.NotAnEvent)},
		{name: "no records", data: `{"records":[]}`},
		{name: "base64 of nothing", data: `{"awslogs":{"data":""}}`, skips: reasons(ingest.NotAnEvent)},
		{name: "gzip of nothing", data: string(gzipped(nil)), skips: reasons(ingest.NotAnEvent)},
		{name: "gzip cut", data: string(gzipped([]byte(madeUp("a")))[:200]), skips: reasons(ingest.CutStream)},
		{name: "gzip and something else", data: string(gzipped([]byte(item("a")+"\n"))) + "something else", ids: []string{"a"},
			skips: reasons(ingest.CorruptStream)},
		{name: "numbers", data: `[1,{"a":1},` + item("b") + `]`, ids: []string{"b"}, skips: reasons(ingest.NotAnEvent)},
	} {
		t.Run(c.name, func(t *testing.T) {
			ids, got := outcome(ingest.Decode(ingest.Entry{Data: []byte(c.data), At: at}))
			if diff := cmp.Diff(c.ids, ids); diff != "" {
				t.Errorf("events (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(c.skips, got); diff != "" {
				t.Errorf("skips (-want +got)\n%s", diff)
			}
		})
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
