package ingest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		`{"records":[{"category":"kube-audit","properties":{"log":"{}"}}]}`, `{"awslogs":{"data":"H4sI"}}`, `[1.5,{"log":"[]"}]`,
		`[[1,{}],{"message":"{\"items\":[]}"}]`, "2026-11-21T06:49:22Z stdout P {", "2026-11-21T06:49:22Z []", `"\"{\""`,
		`{"message":{"data":"e30="}}`, `{"protoPayload":{"serviceName":"k8s.io","methodName":"a.b.v1.c","resourceName":"b/v1/c"}}`,
		string(gzipped(nil)), string(gzipped([]byte(item("a")))), string(gzipped(gzipped([]byte("[]")))),
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

// FuzzEnvelopes holds that no envelope changes what is in it: a text that is an event is the same event in each.
func FuzzEnvelopes(f *testing.F) {
	for _, text := range []string{
		madeUp("a"), item("a"), event("\"auditID\":\"a\",\"requestObject\":\"\xff\""), event(`"auditID":"a","requestObject":{"x":1,"x":2}`),
		event(`"auditID":"a","requestObject":"skipped-too-big-size-object"`), event(`"auditID":"a","verb":1`), "{", "[]", `{"log":"x"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, wantSkips := ingest.Decode(ingest.Entry{Data: data, At: at})
		for name, wrapped := range envelopes(data) {
			got, skips := ingest.Decode(ingest.Entry{Data: wrapped, At: at})
			if len(got)+len(skips) == 0 {
				t.Errorf("%s: neither an event nor a skip", name)
			}
			if len(want) != 1 || len(wantSkips) > 0 {
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" || len(skips) > 0 {
				t.Errorf("%s: (-bare +wrapped)\n%s\n%v", name, diff, skips)
			}
		}
	})
}

// envelopes wraps text as each of several shippers would. Bytes that are no Unicode stay, as Fluent Bit leaves them.
func envelopes(text []byte) map[string][]byte {
	quoted := string(quoteRaw(text))
	return map[string][]byte{
		"gzip":         gzipped(text),
		"docker":       []byte(`{"log":` + quoted + `,"stream":"stdout","time":"2026-11-21T06:49:22Z"}`),
		"CRI":          append([]byte("2026-11-21T06:49:22Z stdout F "), text...),
		"Event Hub":    []byte(`{"records":[{"category":"kube-audit","properties":{"log":` + quoted + `}}]}`),
		"subscription": []byte(`{"messageType":"DATA_MESSAGE","logEvents":[{"id":"1","timestamp":1,"message":` + quoted + `}]}`),
		"Lambda":       []byte(`{"awslogs":{"data":"` + base64.StdEncoding.EncodeToString(gzipped(text)) + `"}}`),
		"Fluentd":      []byte(`[1.5,{"message":` + quoted + `}]`),
		"string":       []byte(quoted),
	}
}

// quoteRaw quotes text without a look at what is no Unicode in it.
func quoteRaw(text []byte) []byte {
	quoted := []byte{'"'}
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			quoted = append(quoted, '\\', c)
		case c < ' ':
			quoted = fmt.Appendf(quoted, `\u%04x`, c)
		default:
			quoted = append(quoted, c)
		}
	}
	return append(quoted, '"')
}

// elements counts what stands in the arrays of text, by itself. Where there are lists of events, envelopes or no JSON,
// the count is the least that must come out.
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
		for _, list := range []string{"items", "records", "Records", "logEvents", "events", "EventList"} {
			if bytes.Contains(data, []byte(list)) {
				return 0, false
			}
		}
		return 1, data[0] != '[' && data[0] != '{' && data[0] != '"'
	}
	exact = true
	for i, element := range array {
		// What stands before a record may be its time.
		if i == 0 && len(array) > 1 && array[1][0] == '{' {
			exact = false
			continue
		}
		m, e := elements(element)
		n += m
		exact = exact && e
	}
	return n, exact
}
