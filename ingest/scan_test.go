package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/ingest"
)

// TestScanEvent: events as apiservers write them are read by the fast reader, to the same as by the strict one.
func TestScanEvent(t *testing.T) {
	fast := 0
	lines := realLines(t)
	for _, line := range lines {
		if sameAsStrict(t, line) {
			fast++
		}
	}
	if fast < len(lines)*3/4 {
		t.Errorf("%d of %d events are read fast", fast, len(lines))
	}
}

// sameAsStrict holds the fast reader to the strict one, if it takes the text.
func sameAsStrict(t *testing.T, data []byte) (fast bool) {
	t.Helper()
	got, gotSkip, fast := ingest.ScanEvent(data)
	if !fast {
		return false
	}
	want, wantSkip := ingest.StrictEvent(data)
	if diff := cmp.Diff(want, got) + cmp.Diff(wantSkip, gotSkip); diff != "" {
		t.Errorf("not as the strict decoder reads it (-strict +fast):\n%s", diff)
	}
	return true
}

// sameOutline holds outlines to whole events: the same of them, the same skips, and the same in the fields that are there.
func sameOutline(t *testing.T, data []byte) (outlines int) {
	t.Helper()
	got, gotSkips := ingest.DecodeOutlines(ingest.Entry{Data: data}, func(*ingest.Event) bool { return true })
	want, wantSkips := ingest.Decode(ingest.Entry{Data: data})
	for i := range min(len(got), len(want)) {
		if !got[i].Outline {
			continue
		}
		outlines++
		w := want[i]
		want[i] = &ingest.Event{
			Kind: w.Kind, APIVersion: w.APIVersion, Level: w.Level, AuditID: w.AuditID, Stage: w.Stage, Verb: w.Verb, ObjectRef: w.ObjectRef,
			RequestReceivedTimestamp: w.RequestReceivedTimestamp, StageTimestamp: w.StageTimestamp, Outline: true,
		}
		g := *got[i]
		g.RequestURI, g.User, g.ImpersonatedUser, g.SourceIPs, g.UserAgent = "", ingest.UserInfo{}, nil, nil, ""
		g.ResponseStatus, g.RequestObject, g.ResponseObject, g.Annotations = nil, nil, nil, nil
		got[i] = &g
	}
	if diff := cmp.Diff(want, got) + cmp.Diff(wantSkips, gotSkips); diff != "" {
		t.Errorf("not as the whole event (-whole +outline):\n%s", diff)
	}
	return outlines
}

// TestOutlines: reads and other stages are told by their outline, where that is enough.
func TestOutlines(t *testing.T) {
	outlines := 0
	for _, line := range realLines(t) {
		outlines += sameOutline(t, line)
	}
	if outlines == 0 {
		t.Error("no event is told by its outline")
	}
	read := []byte(`{"auditID":"a","stage":"ResponseComplete","verb":"get","user":{"username":"u"}}`)
	if n := sameOutline(t, read); n != 1 {
		t.Errorf("there are %d outlines of a read", n)
	}
	for _, enough := range []bool{true, false} {
		events, _ := ingest.DecodeOutlines(ingest.Entry{Data: read}, func(*ingest.Event) bool { return enough })
		if len(events) != 1 || events[0].Outline != enough || !enough && events[0].User.Username != "u" {
			t.Errorf("enough %t: %+v", enough, events)
		}
	}
	for _, broken := range []string{
		`"user":{"username":1}`, `"user":{"username":"a","username":"b"}`, `"annotations":{"a":"1","a":"2"}`, `"annotations":{"a":1}`, "\"userAgent\":\"\xff\"",
		`"requestObject":{"a":}`, `"user":{"extra":{"a":["1"],"a":[]}}`, `"sourceIPs":[1]`,
	} {
		sameOutline(t, []byte(`{"auditID":"a","stage":"ResponseComplete","verb":"get",`+broken+`}`))
	}
}

// TestScanOdd: what only the strict decoder can judge is left to it.
func TestScanOdd(t *testing.T) {
	const good = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a","stage":"Panic","verb":"get"`
	if !sameAsStrict(t, []byte(good+"}")) {
		t.Fatal("a good event is odd")
	}
	for _, rest := range []string{
		`,"verb":"get"}`, `,"\u0076erb":"list"}`, `,"other":1}`, `,"user":{"username":"a","username":"b"}}`, `,"user":null}`,
		`,"annotations":{"a":"1","a":"2"}}`, `,"annotations":{"a":1}}`, ",\"userAgent\":\"\xff\"}", ",\"userAgent\":\"\x01\"}",
		`,"userAgent":"\ud800"}`, `,"userAgent":"\q"}`, `,"stageTimestamp":"2026-02-30T00:00:00Z"}`, `,"stageTimestamp":"2026-01-02T00:00:00+01:00"}`,
		`,"responseStatus":{"code":1e2}}`, `,"responseStatus":{"code":2000}}`, `,"responseStatus":{"metadata":{"a":1,"a":2}}}`,
		`,"responseStatus":{"details":{"causes":[{"a":{"b":{"c":[1]}}}]}}}`, `,"authenticationMetadata":{"a":01}}`,
		`,"requestObject":{"a":}}`, `,"requestObject":{"a":01}}`, `,"requestObject":[1,]}`, `,"requestObject":{"a" 1}}`, `,"requestObject":"` + "\n" + `"}`,
		`,"requestObject":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
		`,}`, `}}`, `} {}`, ``, `,"sourceIPs":["a",]}`, `,"sourceIPs":[1]}`,
	} {
		if _, _, fast := ingest.ScanEvent([]byte(good + rest)); fast {
			t.Errorf("%s is not odd", rest)
		}
	}
}

// TestPassValue holds the fast reader of bodies to encoding/json.
func TestPassValue(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `tru`, `-1.5e+10`, `-`, `1.`, `.5`, `01`, `1e`, `""`, `"`, `"\"`, `"\u00zz"`, `"\u0`, `{}`, `[]`, `[}`, `{]`, `{"a":1,}`, `{,}`, `{"a"}`,
		`[1 2]`, `[1,2]`, `{"a":{"b":[{"c":null}]}}`, ` [ 1 , { "a" : "b" } ] `, `{1:2}`, `{"a":1 "b":2}`, `"0123456789abcdef"`, `"0123456789abcde\n"`, "\"01234567\x1f\"", "\"\x7f\"",
	} {
		n, ok := ingest.PassValue([]byte(text))
		if valid := json.Valid([]byte(text)); ok && n == len(strings.TrimRight(text, " ")) != valid {
			t.Errorf("%s: %d %v, valid is %v", text, n, ok, valid)
		} else if !ok && valid {
			t.Errorf("%s does not pass", text)
		}
	}
}

// FuzzScanEvent holds that the fast reader and the strict decoder agree on every text that the fast one takes.
func FuzzScanEvent(f *testing.F) {
	for _, line := range realLines(f) {
		if len(line) < 1500 {
			f.Add(line)
		}
	}
	for _, body := range []string{`{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `[[[]]]`, `-0.0e1`, `null`} {
		f.Add(fmt.Appendf(nil, `{"auditID":"a","stage":"Panic","requestObject":%s,"responseObject" : %s }`, body, body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sameAsStrict(t, bytes.Trim(data, " \n\r\t"))
		sameOutline(t, data)
	})
}

// FuzzPassValue holds the fast reader of bodies to encoding/json, which takes the same texts for JSON.
func FuzzPassValue(f *testing.F) {
	for _, text := range []string{`{"a":[1,-2.5e3,true,false,null,"\u00e9\n"]}`, `[{}]`, `"0123456789\\"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, ok := ingest.PassValue(data)
		switch {
		case ok && !json.Valid(data[:n]):
			t.Errorf("%q passes", data[:n])
		case !ok && json.Valid(data) && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) < 60:
			t.Errorf("%q does not pass", data)
		}
	})
}
