package ingest_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/vapshadow/vapshadow/ingest"
)

// FuzzDecode holds that whatever is in an entry becomes an event or a skip.
func FuzzDecode(f *testing.F) {
	// Long seeds keep the fuzzer busy with making them short.
	for _, line := range realLines(f) {
		if len(line) < 1500 {
			f.Add(line)
		}
	}
	for _, text := range []string{
		"", " ", "null", "{", "[", "]", `{"items":[`, `{"items":[]}`, `[[],[{}]]`, "\v", `"`, `{"a":"\`,
		event(`"auditID":"a","verb":"x","verb":"y"`), event("\"auditID\":\"\xff\""),
		list(item("a"), item("b"), "{}"), `{"items":[` + item("a") + `],"kind":"EventList","apiVersion":"audit.k8s.io/v1"}`,
		item("a") + item("b"), `[` + item("a") + `,}` + item("b"),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kept := bytes.Clone(data)
		events, skips := ingest.Decode(ingest.Entry{Data: data, At: at})
		if !bytes.Equal(kept, data) {
			t.Error("the entry was changed")
		}
		for _, ev := range events {
			if ev.AuditID == "" || ev.Kind != "Event" || ev.APIVersion != "audit.k8s.io/v1" || ev.At != at {
				t.Errorf("not an event: %+v", ev)
			}
			for _, body := range []json.RawMessage{ev.RequestObject, ev.ResponseObject} {
				if body != nil && !json.Valid(body) {
					t.Errorf("body %q", body)
				}
			}
		}
		for _, s := range skips {
			if s.Reason == "" || s.Detail == "" || s.At != at {
				t.Errorf("skip %+v", s)
			}
		}
		got := len(events) + len(skips)
		if want, exact := elements(data); got < want || exact && got > want {
			t.Errorf("%d events, %d skips %v, of %d elements", len(events), len(skips), skips, want)
		}
	})
}

// elements counts what stands in the arrays of text, by itself. Where there are lists of events or no JSON, the count
// is the least that must come out.
func elements(data []byte) (n int, exact bool) {
	data = bytes.Trim(data, " \r\n\t")
	if len(data) == 0 {
		return 0, true
	}
	if !json.Valid(data) {
		// Of brackets alone, all may close.
		return min(1, len(bytes.Trim(data, "[], \r\n\t"))), false
	}
	var array []json.RawMessage
	if data[0] != '[' || json.Unmarshal(data, &array) != nil {
		if bytes.Contains(data, []byte("tems")) || bytes.Contains(data, []byte("EventList")) {
			return 0, false
		}
		return 1, data[0] != '['
	}
	exact = true
	for _, element := range array {
		m, e := elements(element)
		n += m
		exact = exact && e
	}
	return n, exact
}
