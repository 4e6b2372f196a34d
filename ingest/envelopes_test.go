package ingest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vapshadow/vapshadow/ingest"
)

var update = flag.Bool("update", false, "write what comes out of testdata/envelopes into it")

// Each file of testdata/envelopes holds an input, and what has to come out of it. The input is a template; its
// functions are those of envelopeFile. An input named "input" is read as a file, as a compressed file, and as one
// message; one named "lines" is a file only.
func TestEnvelopes(t *testing.T) {
	paths, err := filepath.Glob("testdata/envelopes/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no files", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			file := readEnvelopeFile(t, path)
			input, message := file.render(t, "input"), true
			if input == nil {
				input, message = file.render(t, "lines"), false
			}
			got := describe(readEntries(t, bytes.NewReader(input)))
			if *update {
				file.write(t, path, got)
				return
			}
			if diff := cmp.Diff(string(file.parts["want"]), got); diff != "" {
				t.Errorf("as a file (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, describe(readEntries(t, bytes.NewReader(gzipped(input))))); diff != "" {
				t.Errorf("compressed (-file +compressed):\n%s", diff)
			}
			if !message {
				return
			}
			for name, data := range map[string][]byte{"message": input, "compressed message": gzipped(input)} {
				if diff := cmp.Diff(got, describe(decode([]ingest.Entry{{Data: data, At: at}}))); diff != "" {
					t.Errorf("as a %s (-file +message):\n%s", name, diff)
				}
			}
		})
	}
}

type envelopeFile struct {
	archive *txtar.Archive
	parts   map[string][]byte
}

func readEnvelopeFile(t *testing.T, path string) envelopeFile {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := envelopeFile{archive, make(map[string][]byte)}
	for _, part := range archive.Files {
		f.parts[part.Name] = part.Data
	}
	return f
}

// render returns a part with its template carried out; nil if there is no such part.
func (f envelopeFile) render(t *testing.T, name string) []byte {
	text, ok := f.parts[name]
	if !ok {
		return nil
	}
	tmpl, err := template.New(name).Delims("<<", ">>").Funcs(template.FuncMap{
		"part":   func(name string) string { return strings.TrimSuffix(string(f.render(t, name)), "\n") },
		"event":  func(id string) string { return madeUp(id) },
		"line":   func(s string) string { return s + "\n" },
		"quote":  func(s string) (string, error) { b, err := json.Marshal(s); return string(b), err },
		"gzip":   func(s string) string { return string(gzipped([]byte(s))) },
		"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"head":   func(n int, s string) string { return s[:n] },
		"tail":   func(n int, s string) string { return s[n:] },
		"long":   func(n int, s string) string { return strings.Replace(s, "hello", strings.Repeat("x", n), 1) },
	}).Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := tmpl.Execute(&b, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (f envelopeFile) write(t *testing.T, path, want string) {
	f.archive.Files = slices.DeleteFunc(f.archive.Files, func(p txtar.File) bool { return p.Name == "want" })
	f.archive.Files = append(f.archive.Files, txtar.File{Name: "want", Data: []byte(want)})
	if err := os.WriteFile(path, txtar.Format(f.archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

// madeUp is the event of a ConfigMap's creation.
func madeUp(id string) string {
	object := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + id + `","namespace":"shop"},"data":{"k":"hello \"you\" <>"}}`
	return `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"` + id + `",` +
		`"stage":"ResponseComplete","requestURI":"/api/v1/namespaces/shop/configmaps?fieldManager=kubectl","verb":"create",` +
		`"user":{"username":"jane","groups":["dev"]},"sourceIPs":["192.0.2.1"],"userAgent":"kubectl/v1.37.1",` +
		`"objectRef":{"resource":"configmaps","namespace":"shop","name":"` + id + `","apiVersion":"v1"},` +
		`"responseStatus":{"metadata":{},"code":201},"requestObject":` + object + `,"responseObject":` + object + `,` +
		`"requestReceivedTimestamp":"2026-11-21T06:49:22.100000Z","stageTimestamp":"2026-11-21T06:49:22.200000Z",` +
		`"annotations":{"authorization.k8s.io/decision":"allow"}}`
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func readEntries(t testing.TB, r io.Reader) ([]*ingest.Event, []ingest.Skip) {
	var entries []ingest.Entry
	reader := ingest.NewReader(r, "x", 1<<20)
	for {
		e, err := reader.Next()
		if err == io.EOF {
			return decode(entries)
		}
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
}

func decode(entries []ingest.Entry) (events []*ingest.Event, skips []ingest.Skip) {
	for _, e := range entries {
		more, left := ingest.Decode(e)
		events, skips = append(events, more...), append(skips, left...)
	}
	return events, skips
}

// describe writes events and skips down. An event as madeUp has it is equal in all fields.
func describe(events []*ingest.Event, skips []ingest.Skip) string {
	var b strings.Builder
	for _, ev := range events {
		made, _ := ingest.Decode(ingest.Entry{Data: []byte(madeUp(ev.AuditID)), At: ev.At})
		if cmp.Equal(made, []*ingest.Event{ev}) {
			fmt.Fprintf(&b, "event %s as it was\n", ev.AuditID)
			continue
		}
		fmt.Fprintf(&b, "event %s %s %s %s %s\n", ev.AuditID, ev.Level, ev.Stage, ev.Verb, ev.RequestURI)
		fmt.Fprintf(&b, "  user %s %q agent %q from %q\n", ev.User.Username, ev.User.Groups, ev.UserAgent, ev.SourceIPs)
		if ev.ImpersonatedUser != nil {
			fmt.Fprintf(&b, "  impersonated %s\n", ev.ImpersonatedUser.Username)
		}
		fmt.Fprintf(&b, "  object %+v code %d at %s\n", *ev.ObjectRef, ev.ResponseStatus.Code, ev.StageTimestamp.Format("15:04:05.000"))
		fmt.Fprintf(&b, "  request %s\n  response %s\n", short(ev.RequestObject), short(ev.ResponseObject))
		fmt.Fprintf(&b, "  annotations %q absent %q\n", ev.Annotations, ev.Absent)
	}
	for _, s := range skips {
		fmt.Fprintf(&b, "skip %s: %s\n", s.Reason, s.Detail)
	}
	return b.String()
}

func short(body json.RawMessage) string {
	if body == nil {
		return "none"
	}
	return string(body)
}
