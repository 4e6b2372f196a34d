package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// sameOutline holds an Outliner to Decode: of what it is told of nothing is left out, and nothing changed, and the rest is
// the same.
func sameOutline(t *testing.T, o *ingest.Outliner, data []byte) (outlines int) {
	t.Helper()
	want, wantSkips := ingest.Decode(ingest.Entry{Data: data, At: at})
	for _, done := range []bool{true, false} {
		var told []ingest.Outline
		o.Told = func(outline *ingest.Outline) bool {
			told = append(told, *outline)
			return done
		}
		got, gotSkips := o.Decode(ingest.Entry{Data: data, At: at})
		outlines = len(told)
		if diff := cmp.Diff(outlinesOf(want[:min(len(told), len(want))]), told, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("not the outline of the event (-event +outline):\n%s", diff)
		}
		rest := want
		if done && outlines > 0 {
			rest = want[min(1, len(want)):]
		}
		if diff := cmp.Diff(rest, got, cmpopts.EquateEmpty()) + cmp.Diff(wantSkips, gotSkips); diff != "" {
			t.Errorf("done %t: not as Decode reads it (-Decode +Outliner):\n%s", done, diff)
		}
	}
	return outlines
}

func outlinesOf(events []*ingest.Event) (out []ingest.Outline) {
	for _, ev := range events {
		o := ingest.Outline{AuditID: []byte(ev.AuditID), Stage: []byte(ev.Stage), Verb: []byte(ev.Verb), StageTimestamp: ev.StageTimestamp}
		if ref := ev.ObjectRef; ref != nil {
			o.APIGroup, o.Resource, o.Subresource = []byte(ref.APIGroup), []byte(ref.Resource), []byte(ref.Subresource)
		}
		out = append(out, o)
	}
	return out
}

// TestOutlines: events are told by their outline, but for those that may have changed something.
func TestOutlines(t *testing.T) {
	outlines, o := 0, &ingest.Outliner{}
	for _, line := range realLines(t) {
		outlines += sameOutline(t, o, line)
	}
	if outlines == 0 {
		t.Error("no event is told by its outline")
	}
	for _, c := range []struct {
		stage, verb, more string
		want              int
	}{
		{"ResponseComplete", "get", `"user":{"username":"u"}`, 1},
		{"ResponseComplete", "get", `"requestURI":"/a\u0026b\ud83d\ude00","objectRef":{"resource":"pods","apiGroup":"a","subresource":"log"}`, 1},
		{"ResponseComplete", "post", `"kind":"Event","apiVersion":"audit.k8s.io/v1"`, 1},
		{"RequestReceived", "delete", `"level":"Metadata"`, 1},
		{"Panic", "update", `"level":"Metadata"`, 0},
		{"ResponseComplete", "deletecollection", `"level":"Metadata"`, 0},
		{"ResponseComplete", "get", `"kind":"EventList","apiVersion":"audit.k8s.io/v1"`, 0},
		{"ResponseComplete", "get", `"kind":"Event","apiVersion":"audit.k8s.io/v1beta1"`, 0},
		{"ResponseComplete", "get", `"objectRef":{"resource":"\u0070ods"}`, 0},
		{"ResponseComplete", "get", `"user":{"username":1}`, 0},
		{"ResponseComplete", "get", `"user":{"username":"a","username":"b"}`, 0},
		{"ResponseComplete", "get", `"annotations":{"a":"1","a":"2"}`, 0},
		{"ResponseComplete", "get", `"annotations":{"a":1}`, 0},
		{"ResponseComplete", "get", `"Verb":"update"`, 0},
		{"ResponseComplete", "get", `"verb":"update"`, 0},
		{"ResponseComplete", "get", "\"userAgent\":\"\xff\"", 0},
		{"ResponseComplete", "get", `"userAgent":"\ud83d\u0041"`, 0},
		{"ResponseComplete", "get", `"userAgent":"\ude00"`, 0},
		{"ResponseComplete", "get", `"userAgent":"\ud83"`, 0},
		{"ResponseComplete", "get", `"requestObject":{"a":}`, 0},
		{"ResponseComplete", "get", `"user":{"extra":{"a":["1"],"a":[]}}`, 0},
		{"ResponseComplete", "get", `"sourceIPs":[1]`, 0},
	} {
		data := fmt.Sprintf(`{"auditID":"a","stage":%q,"verb":%q,%s}`, c.stage, c.verb, c.more)
		if n := sameOutline(t, o, []byte(data)); n != c.want {
			t.Errorf("%s is told by %d outlines", data, n)
		}
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

// TestScanTime: a time is read as the strict decoder reads it, whatever was read before it.
func TestScanTime(t *testing.T) {
	for _, c := range []struct {
		text string
		fast bool
	}{
		{"2026-01-02T03:04:05Z", true}, {"2026-01-02T03:04:59.000001Z", true}, {"2026-01-02T03:04:00.1Z", true}, {"2026-01-02T03:04:00.123456789Z", true},
		{"2026-01-02T03:04:60Z", false}, {"2026-01-02T03:04:5Z", false}, {"2026-01-02T03:04:05.Z", false}, {"2026-01-02T03:04:05,1Z", false},
		{"2026-01-02T03:04:05.1234567890Z", false}, {"2026-01-02T03:04:05.1x", false}, {"2026-01-02T03:04:0/Z", false}, {"2026-01-02T03:04:05.:Z", false},
		{"2026-01-02T24:00:00Z", false}, {"2026-02-29T00:00:00Z", false}, {"2028-02-29T00:00:00Z", true}, {"2026-1-02T00:00:00Z", false},
		{"2026-01-02T03:04:05+00:00", false}, {"2026-01-02t03:04:05z", false}, {"0001-01-01T00:00:00Z", true}, {"9999-12-31T23:59:59.999999999Z", true},
		{"2026-01-02T03:04:06Z", true}, {"", false},
	} {
		data := fmt.Appendf(nil, `{"auditID":"a","stage":"Panic","requestReceivedTimestamp":"2026-01-02T03:04:07.5Z","stageTimestamp":%q}`, c.text)
		if fast := sameAsStrict(t, data); fast != c.fast {
			t.Errorf("%s: read fast is %v", c.text, fast)
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
	o := &ingest.Outliner{}
	f.Fuzz(func(t *testing.T, data []byte) {
		sameAsStrict(t, bytes.Trim(data, " \n\r\t"))
		for range 2 { // The second time the keys are where they are guessed to be.
			sameOutline(t, o, data)
		}
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
