package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/ingest"
)

var at = ingest.Position{Source: "audit.log", Line: 7, Offset: 1234}

// event is a small event with more members, as in event(`"auditID":"a"`).
func event(more string) string {
	return `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete",` + more + `}`
}

func item(id string) string {
	return fmt.Sprintf(`{"level":"Metadata","auditID":%q,"stage":"ResponseComplete"}`, id)
}

func list(items ...string) string {
	return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + strings.Join(items, ",") + `]}`
}

// outcome is what became of an entry: auditIDs of events and reasons of skips.
func outcome(events []*ingest.Event, skips []ingest.Skip) (ids []string, reasons []ingest.SkipReason) {
	for _, ev := range events {
		ids = append(ids, ev.AuditID)
	}
	for _, s := range skips {
		reasons = append(reasons, s.Reason)
	}
	return ids, reasons
}

func TestDecode(t *testing.T) {
	deep := strings.Repeat(`[`, 10_001) + strings.Repeat(`]`, 10_001)
	for _, c := range []struct {
		name, data string
		ids        []string
		skips      []ingest.SkipReason
	}{
		{name: "event", data: event(`"auditID":"a"`), ids: []string{"a"}},
		{name: "event with space around", data: " \t" + event(`"auditID":"a"`) + "\r\n", ids: []string{"a"}},
		{name: "empty", data: ""},
		{name: "space", data: " \r\n"},
		{name: "no kind but a stage", data: item("a"), ids: []string{"a"}},
		{name: "list", data: list(item("a"), item("b")), ids: []string{"a", "b"}},
		{name: "list with full items", data: list(event(`"auditID":"a"`)), ids: []string{"a"}},
		{name: "empty list", data: list()},
		{name: "list without items", data: `{"kind":"EventList","apiVersion":"audit.k8s.io/v1"}`},
		{name: "list with null items", data: `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":null}`},
		{name: "list, kind last", data: `{"items":[` + item("a") + `],"apiVersion":"audit.k8s.io/v1","kind":"EventList"}`,
			ids: []string{"a"}},
		{name: "array of events", data: `[` + event(`"auditID":"a"`) + ` , ` + event(`"auditID":"b"`) + `]`,
			ids: []string{"a", "b"}},
		{name: "array of lists", data: `[` + list(item("a")) + `,` + list() + `,` + list(item("b"), item("c")) + `]`,
			ids: []string{"a", "b", "c"}},
		{name: "nested arrays of lists", data: `[[` + list(item("a")) + `],[[` + item("b") + `]],[]]`, ids: []string{"a", "b"}},
		{name: "two values", data: event(`"auditID":"a"`) + event(`"auditID":"b"`), ids: []string{"a", "b"}},
		{name: "event with members of its own", data: event(`"auditID":"a","items":[{"x":1}],"futureField":{"y":[2]}`),
			ids: []string{"a"}},
		{name: "brackets in strings", data: list(event(`"auditID":"a","userAgent":"]}\"[{"`), item("b")), ids: []string{"a", "b"}},
		{name: "body with a key twice", data: event(`"auditID":"a","requestObject":{"x":1,"x":2}`), ids: []string{"a"}},
		{name: "body that is no Unicode", data: event("\"auditID\":\"a\",\"requestObject\":{\"x\":\"\xff\"}"), ids: []string{"a"}},
		{name: "body with half a surrogate", data: event(`"auditID":"a","responseObject":["\ud800"]`), ids: []string{"a"}},

		{name: "InvalidJSON: text", data: "panic: runtime error", skips: reasons(ingest.InvalidJSON)},
		{name: "InvalidJSON: cut", data: event(`"auditID":"a"`)[:40], skips: reasons(ingest.InvalidJSON)},
		{name: "InvalidJSON: in a body", data: event(`"auditID":"a","requestObject":{"x":01}`), skips: reasons(ingest.InvalidJSON)},
		{name: "InvalidJSON: one element", data: `[` + item("a") + `,{"level":},` + item("b") + `]`,
			ids: []string{"a", "b"}, skips: reasons(ingest.InvalidJSON)},
		{name: "InvalidJSON: behind an event", data: event(`"auditID":"a"`) + "\x00", ids: []string{"a"},
			skips: reasons(ingest.InvalidJSON)},
		{name: "InvalidJSON: list not closed", data: `[` + item("a") + `,` + item("b"), ids: []string{"a", "b"},
			skips: reasons(ingest.InvalidJSON)},
		{name: "InvalidJSON: around the items", data: strings.Replace(list(item("a")), `"metadata":{}`, `"metadata":{x}`, 1),
			ids: []string{"a"}, skips: reasons(ingest.InvalidJSON)},
		{name: "InvalidJSON: vertical tab", data: "\v", skips: reasons(ingest.InvalidJSON)},
		{name: "NoAuditID", data: event(`"verb":"get"`), skips: reasons(ingest.NoAuditID)},
		{name: "NoAuditID: one item", data: list(item(""), item("b")), ids: []string{"b"}, skips: reasons(ingest.NoAuditID)},
		{name: "NoAuditID: case matters", data: event(`"AuditID":"a"`), skips: reasons(ingest.NoAuditID)},
		{name: "UnsupportedVersion", data: `{"kind":"Event","apiVersion":"audit.k8s.io/v1beta1","auditID":"a"}`,
			skips: reasons(ingest.UnsupportedVersion)},
		{name: "UnsupportedVersion: each item",
			data:  strings.Replace(list(item("a"), item("b")), "io/v1", "io/v1beta1", 1),
			skips: reasons(ingest.UnsupportedVersion, ingest.UnsupportedVersion)},
		{name: "UnsupportedVersion: behind the items",
			data: `{"items":[` + item("a") + `],"kind":"EventList","apiVersion":"audit.k8s.io/v1alpha1"}`,
			ids:  []string{"a"}, skips: reasons(ingest.UnsupportedVersion)},
		{name: "NotAnEvent: another kind", data: `{"kind":"Pod","apiVersion":"v1","verb":5}`, skips: reasons(ingest.NotAnEvent)},
		{name: "NotAnEvent: core event", data: `{"kind":"Event","apiVersion":"v1","stage":"x"}`, skips: reasons(ingest.NotAnEvent)},
		{name: "NotAnEvent: core events", data: `{"kind":"EventList","apiVersion":"v1","items":[{"metadata":{}}]}`,
			skips: reasons(ingest.NotAnEvent)},
		{name: "NotAnEvent: no kind", data: `{"auditID":"a"}`, skips: reasons(ingest.NotAnEvent)},
		{name: "NotAnEvent: scalars", data: `[1,"a{",null,true]`,
			skips: reasons(ingest.NotAnEvent, ingest.NotAnEvent, ingest.NotAnEvent, ingest.NotAnEvent)},
		{name: "NotAnEvent: null", data: `null`, skips: reasons(ingest.NotAnEvent)},
		{name: "NotAnEvent: items of a list", data: `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":{"a":1}}`,
			skips: reasons(ingest.NotAnEvent)},
		{name: "NotAnEvent: items in disguise", data: `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","\u0069tems":[` + item("a") + `]}`,
			skips: reasons(ingest.NotAnEvent)},
		{name: "InvalidEvent", data: event(`"auditID":"a","verb":5`), skips: reasons(ingest.InvalidEvent)},
		{name: "InvalidEvent: time", data: event(`"auditID":"a","stageTimestamp":"yesterday"`), skips: reasons(ingest.InvalidEvent)},
		{name: "InvalidEvent: kind", data: `{"kind":5,"stage":"x","auditID":"a"}`, skips: reasons(ingest.InvalidEvent)},
		{name: "DuplicateKey", data: event(`"auditID":"a","verb":"get","verb":"create"`), skips: reasons(ingest.DuplicateKey)},
		{name: "DuplicateKey: in user", data: event(`"auditID":"a","user":{"username":"a","username":"b"}`),
			skips: reasons(ingest.DuplicateKey)},
		{name: "DuplicateKey: body", data: event(`"auditID":"a","requestObject":{},"requestObject":{}`),
			skips: reasons(ingest.DuplicateKey)},
		{name: "DuplicateKey: body in disguise", data: event(`"auditID":"a","requestObject":{},"\u0072equestObject":{}`),
			skips: reasons(ingest.DuplicateKey)},
		{name: "DuplicateKey: items", data: strings.TrimSuffix(list(item("a")), "}") + `,"items":[` + item("b") + `]}`,
			ids: []string{"a"}, skips: reasons(ingest.DuplicateKey)},
		{name: "InvalidUTF8", data: event("\"auditID\":\"a\",\"user\":{\"username\":\"\xc3\x28\"}"), skips: reasons(ingest.InvalidUTF8)},
		{name: "InvalidUTF8: surrogate", data: event(`"auditID":"a","userAgent":"\ud800"`), skips: reasons(ingest.InvalidUTF8)},
		{name: "InvalidUTF8: and in a body", data: event("\"auditID\":\"a\",\"userAgent\":\"\xff\",\"requestObject\":\"\xff\""),
			skips: reasons(ingest.InvalidUTF8)},
		{name: "TooDeep", data: event(`"auditID":"a","requestObject":` + deep), skips: reasons(ingest.TooDeep)},
		{name: "TooDeep: lists", data: deep, skips: reasons(ingest.TooDeep)},
		{name: "deep enough", data: event(`"auditID":"a","requestObject":` + deep[2:len(deep)-2]), ids: []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, skips := ingest.Decode(ingest.Entry{Data: []byte(c.data), At: at})
			ids, reasons := outcome(events, skips)
			if diff := cmp.Diff(c.ids, ids); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.skips, reasons); diff != "" {
				t.Errorf("skips (-want +got):\n%s\n%v", diff, skips)
			}
			for _, ev := range events {
				if ev.At != at || ev.Kind != "Event" || ev.APIVersion != "audit.k8s.io/v1" {
					t.Errorf("event is %s %s at %s", ev.APIVersion, ev.Kind, ev.At)
				}
			}
			for _, s := range skips {
				if s.At != at || s.Detail == "" {
					t.Errorf("skip without place or detail: %+v", s)
				}
			}
		})
	}
}

func reasons(r ...ingest.SkipReason) []ingest.SkipReason { return r }

func TestDecodeFields(t *testing.T) {
	data := `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"a","stage":"ResponseComplete",
		"requestURI":"/api/v1/namespaces/shop/pods?dryRun=All","verb":"create",
		"user":{"username":"admin","uid":"1","groups":["g1","g2"],"extra":{"k":["v1","v2"]}},
		"impersonatedUser":{"username":"jane"},"authenticationMetadata":{"impersonationConstraint":"x"},
		"sourceIPs":["10.0.0.1"],"userAgent":"kubectl \u003c\u2028",
		"objectRef":{"resource":"pods","namespace":"shop","name":"web","uid":"u","apiGroup":"g","apiVersion":"v1","resourceVersion":"5","subresource":"status"},
		"responseStatus":{"metadata":{},"status":"Failure","message":"no","reason":"Forbidden","details":{},"code":403},
		"requestObject":{"a": 1.0e400, "A":"<é>"},"responseObject":null,
		"requestReceivedTimestamp":"2026-11-21T06:49:22.123456Z","stageTimestamp":"2026-11-21T07:49:22.5+01:00",
		"annotations":{"authorization.k8s.io/decision":"allow"}}`
	buf := []byte(data)
	events, skips := ingest.Decode(ingest.Entry{Data: buf, At: at})
	clear(buf) // events hold on to nothing of it
	if len(events) != 1 || len(skips) > 0 {
		t.Fatalf("got %d events, %v", len(events), skips)
	}
	want := &ingest.Event{
		Kind: "Event", APIVersion: "audit.k8s.io/v1", Level: ingest.LevelRequestResponse, AuditID: "a",
		Stage: ingest.StageResponseComplete, RequestURI: "/api/v1/namespaces/shop/pods?dryRun=All", Verb: "create",
		User: ingest.UserInfo{Username: "admin", UID: "1", Groups: []string{"g1", "g2"},
			Extra: map[string][]string{"k": {"v1", "v2"}}},
		ImpersonatedUser: &ingest.UserInfo{Username: "jane"}, SourceIPs: []string{"10.0.0.1"}, UserAgent: "kubectl <\u2028",
		ObjectRef: &ingest.ObjectReference{Resource: "pods", Namespace: "shop", Name: "web", UID: "u", APIGroup: "g",
			APIVersion: "v1", ResourceVersion: "5", Subresource: "status"},
		ResponseStatus: &ingest.Status{Status: "Failure", Message: "no", Reason: "Forbidden", Code: 403},
		RequestObject:  json.RawMessage(`{"a": 1.0e400, "A":"<é>"}`),

		RequestReceivedTimestamp: time.Date(2026, 11, 21, 6, 49, 22, 123456000, time.UTC),
		StageTimestamp:           time.Date(2026, 11, 21, 6, 49, 22, 500000000, time.UTC),
		Annotations:              map[string]string{"authorization.k8s.io/decision": "allow"},
		At:                       at,
	}
	if diff := cmp.Diff(want, events[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The lenient way that bodies may need leads to the same event as the fast one.
func TestDecodeApartIsTheSame(t *testing.T) {
	for _, line := range realLines(t) {
		fast, skips := ingest.Decode(ingest.Entry{Data: line, At: at})
		if len(fast) != 1 || len(skips) > 0 {
			t.Fatalf("%d events, %v", len(fast), skips)
		}
		odd := json.RawMessage(`{"x":1,"x":2}`)
		fast[0].RequestObject = odd
		members := make(map[string]json.RawMessage)
		if err := json.Unmarshal(line, &members); err != nil {
			t.Fatal(err)
		}
		members["requestObject"] = odd
		var apart bytes.Buffer
		sep := "{"
		for name, value := range members {
			fmt.Fprintf(&apart, "%s%q:%s", sep, name, value)
			sep = ","
		}
		apart.WriteString("}")
		slow, skips := ingest.Decode(ingest.Entry{Data: apart.Bytes(), At: at})
		if diff := cmp.Diff(fast, slow); diff != "" {
			t.Errorf("(-fast +slow):\n%s\n%v", diff, skips)
		}
	}
}

func TestDecodeReal(t *testing.T) {
	data, err := os.ReadFile("testdata/webhook-batches.json")
	if err != nil {
		t.Fatal(err)
	}
	var batches []struct{ Items []json.RawMessage }
	if err := json.Unmarshal(data, &batches); err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, b := range batches {
		want += len(b.Items)
	}
	events, skips := ingest.Decode(ingest.Entry{Data: data, At: at})
	if len(events) != want || want == 0 || len(skips) > 0 {
		t.Errorf("got %d events of %d, %v", len(events), want, skips)
	}
}

// What a skip says is for reports, which show nothing of objects.
func TestSkipsHoldNoContent(t *testing.T) {
	for _, data := range []string{
		event(`"auditID":"a","requestObject":{"password":"hunter2"`),
		event(`"auditID":"a","requestObject":{"password":hunter2}`),
		event(`"auditID":"a","user":{"extra":{"hunter2":"x"}}`),
		event(`"auditID":"a","user":{"extra":{"hunter2":[],"hunter2":[]}}`),
		event("\"auditID\":\"a\",\"annotations\":{\"hunter2\":\"\xff\"}"),
		event(`"auditID":"a","verb":{"hunter2":1}`),
	} {
		_, skips := ingest.Decode(ingest.Entry{Data: []byte(data), At: at})
		if len(skips) == 0 || strings.Contains(fmt.Sprint(skips), "hunter2") {
			t.Errorf("%s: skips %v", data, skips)
		}
	}
}

func realLines(t testing.TB) [][]byte {
	t.Helper()
	data, err := os.ReadFile("testdata/audit.log")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(data), []byte("\n"))
}
