package replay_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

var update = flag.Bool("update", false, "write what is rebuilt into testdata/*.txtar; read the difference before you keep it")

// TestRules replays the files testdata/*.txtar, one a rule:
//
//   - snapshot.yaml, if there: the objects of the cluster when the log began
//   - before.yaml, if there: events that are only observed
//   - events.yaml: events that are observed, and then rebuilt
//   - want: what is rebuilt of events.yaml
//
// The events are audit events, written short: `at` and `took` are the times in seconds, `code` is the status code, and
// what is left out is a RequestResponse event of stage ResponseComplete by alice, on the object that the URI names.
// Objects here have no managedFields; that these are unknown for it is shown in managedfields.txtar alone.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rule := parseRule(t, archive)
			got := rule.replay(t, name == "managedfields")
			if *update {
				writeWant(t, file, archive, got)
				return
			}
			if diff := cmp.Diff(rule.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// rule is one file of testdata.
type rule struct {
	snapshot       []map[string]any
	before, events []*ingest.Event
	want           string
}

func parseRule(t *testing.T, archive *txtar.Archive) rule {
	t.Helper()
	var r rule
	for _, f := range archive.Files {
		switch f.Name {
		case "snapshot.yaml":
			for _, doc := range documents(f.Data) {
				r.snapshot = append(r.snapshot, object(t, string(doc)))
			}
		case "before.yaml":
			r.before = events(t, "before", f.Data)
		case "events.yaml":
			r.events = events(t, "", f.Data)
		case "want":
			r.want = string(f.Data)
		default:
			t.Fatalf("unknown file %s", f.Name)
		}
	}
	return r
}

func (r rule) replay(t *testing.T, showManagedFields bool) string {
	t.Helper()
	replayer := newReplayer(t, replay.Config{Minor: 37}, r.snapshot)
	var decoded []*replay.Decoded
	for _, ev := range r.before {
		replayer.Observe(replay.Decode(ev))
	}
	for _, ev := range r.events {
		d := replay.Decode(ev)
		replayer.Observe(d)
		decoded = append(decoded, d)
	}
	var out strings.Builder
	for i, d := range decoded {
		if i > 0 {
			out.WriteString("\n")
		}
		if d.NotAdmission != "" {
			fmt.Fprintf(&out, "%s %s\n", d.Event.AuditID, d.NotAdmission)
		}
		for _, req := range replayer.Requests(d) {
			out.WriteString(render(t, req, showManagedFields))
		}
	}
	return out.String()
}

func writeWant(t *testing.T, file string, archive *txtar.Archive, got string) {
	t.Helper()
	at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
	if at < 0 {
		archive.Files = append(archive.Files, txtar.File{Name: "want"})
		at = len(archive.Files) - 1
	}
	archive.Files[at].Data = []byte(got)
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// render writes a request for a person to read.
func render(t *testing.T, req *replay.Request, showManagedFields bool) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s %s", req.Event.AuditID, req.Operation, req.Kind.Kind)
	if req.SubResource != "" {
		fmt.Fprintf(&out, " at %s/%s", req.Resource.Resource, req.SubResource)
	}
	fmt.Fprintf(&out, " namespace=%s name=%s", req.Namespace, req.Name)
	if req.ObjectName != req.Name {
		fmt.Fprintf(&out, " object=%s", req.ObjectName)
	}
	if req.DryRun {
		out.WriteString(" dryRun")
	}
	if req.OrCreate {
		out.WriteString(" orCreate")
	}
	if req.User.Username != "alice" {
		fmt.Fprintf(&out, " user=%s", encode(t, userVariable(req.User)))
	}
	out.WriteString("\n")
	for _, u := range req.Unknown {
		fmt.Fprintf(&out, "  request.%s unknown: %s\n", u, u.Because)
	}
	for _, part := range []struct {
		name string
		replay.Object
	}{{"options", req.Options}, {"object", req.Object}, {"oldObject", req.OldObject}} {
		fmt.Fprintf(&out, "  %s %s", part.name, part.Level)
		if part.Level == replay.Missing {
			fmt.Fprintf(&out, ": %s\n", part.Because)
			continue
		}
		fmt.Fprintf(&out, " %s\n", encode(t, part.Content))
		for _, u := range part.Unknown {
			if u.String() != "metadata.managedFields" || u.Because != replay.ManagedFieldsOmitted || showManagedFields {
				fmt.Fprintf(&out, "    %s unknown: %s\n", u, u.Because)
			}
		}
	}
	return out.String()
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// epoch is when the logs of the tests begin.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// events reads events, one a document. The nth has the auditID n, after a prefix, unless it has another.
func events(t testing.TB, prefix string, data []byte) []*ingest.Event {
	t.Helper()
	var out []*ingest.Event
	for i, doc := range documents(data) {
		ev := event(t, string(doc))
		if ev.AuditID == "" {
			ev.AuditID = fmt.Sprint(prefix, i+1)
		}
		out = append(out, ev)
	}
	return out
}

// event reads an event that is written short: see TestRules.
func event(t testing.TB, text string) *ingest.Event {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	ev := &ingest.Event{
		Kind: "Event", APIVersion: "audit.k8s.io/v1", Level: ingest.LevelRequestResponse,
		Stage: ingest.StageResponseComplete, User: ingest.UserInfo{Username: "alice"},
	}
	short := struct {
		At, Took float64
		Code     int32
	}{Took: 0.1}
	for _, into := range []any{&short, ev} {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	if ev.RequestReceivedTimestamp.IsZero() {
		ev.RequestReceivedTimestamp = epoch.Add(time.Duration(short.At * float64(time.Second)))
		ev.StageTimestamp = ev.RequestReceivedTimestamp.Add(time.Duration(short.Took * float64(time.Second)))
	}
	if short.Code != 0 {
		ev.ResponseStatus = &ingest.Status{Code: short.Code}
	}
	if ev.ObjectRef == nil {
		ev.ObjectRef = referenceOf(ev.RequestURI)
	}
	return ev
}

// referenceOf reads a URI of the API as an apiserver does for the objectRef of an event.
func referenceOf(uri string) *ingest.ObjectReference {
	path, _, _ := strings.Cut(uri, "?")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	ref := &ingest.ObjectReference{}
	switch {
	case len(parts) > 2 && parts[0] == "api":
		ref.APIVersion, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		ref.APIGroup, ref.APIVersion, parts = parts[1], parts[2], parts[3:]
	default:
		return nil
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		ref.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	for i, field := range []*string{&ref.Resource, &ref.Name, &ref.Subresource} {
		if i < len(parts) {
			*field, _ = url.PathUnescape(parts[i])
		}
	}
	return ref
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return decodeObject(t, data)
}

// documents splits YAML at its document marks.
func documents(data []byte) [][]byte {
	var out [][]byte
	for doc := range bytes.SplitSeq(append([]byte("\n"), data...), []byte("\n---\n")) {
		if len(bytes.TrimSpace(doc)) > 0 {
			out = append(out, doc)
		}
	}
	return out
}
