package replay_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// recording is a part of the audit log of a real apiserver, the objects that were there when it began, and what the
// apiserver's policy plugin saw of each request. testdata/recorded/README.md tells how it was made.
type recording struct {
	snapshot   []map[string]any
	events     []*ingest.Event
	admissions []admission
}

// admission is what the policy plugin saw of one request on one object.
type admission struct {
	AuditID         string         `json:"auditID"`
	Name            string         `json:"name"`
	Object          map[string]any `json:"object"`
	OldObject       map[string]any `json:"oldObject"`
	Request         map[string]any `json:"request"`
	NamespaceObject map[string]any `json:"namespaceObject"`
}

// known counts the inputs of a recording that were rebuilt in whole and in part; the rest is Missing.
type known struct{ whole, partly int }

// recordings are the recordings with the least that has to be known of them. The numbers may go up.
var recordings = []struct {
	version, log      string
	minor             int
	object, oldObject known
	requests          int // fully known
}{
	{version: "v1.36.3", minor: 36, log: "requestresponse", object: known{357, 18}, oldObject: known{395, 8}, requests: 443},
	{version: "v1.36.3", minor: 36, log: "request", object: known{16, 36}, oldObject: known{93, 1}, requests: 106},
	{version: "v1.36.3", minor: 36, log: "metadata", object: known{17, 0}, oldObject: known{68, 10}, requests: 134},
	{version: "v1.36.3", minor: 36, log: "omitmanagedfields", object: known{14, 38}, oldObject: known{141, 10}, requests: 155},
	{version: "v1.37.1", minor: 37, log: "requestresponse", object: known{318, 17}, oldObject: known{377, 6}, requests: 404},
	{version: "v1.37.1", minor: 37, log: "request", object: known{11, 11}, oldObject: known{90, 1}, requests: 102},
	{version: "v1.37.1", minor: 37, log: "metadata", object: known{5, 0}, oldObject: known{112, 0}, requests: 140},
	{version: "v1.37.1", minor: 37, log: "omitmanagedfields", object: known{8, 50}, oldObject: known{122, 12}, requests: 137},
}

// TestRecorded holds every rebuilt request against what a real apiserver showed its policies: what is said to be known
// must be equal, and no less may be known than is written above.
func TestRecorded(t *testing.T) {
	for _, want := range recordings {
		t.Run(want.version+"/"+want.log, func(t *testing.T) {
			rec := readRecording(t, filepath.Join("testdata/recorded", want.version, want.log))
			rebuilt := map[[2]string]*replay.Request{}
			for _, req := range rebuild(t, want.minor, rec) {
				rebuilt[[2]string{req.Event.AuditID, req.ObjectName}] = req
				rebuilt[[2]string{req.Event.AuditID}] = req
			}
			var object, oldObject known
			requests := 0
			for _, saw := range rec.admissions {
				req := rebuilt[[2]string{saw.AuditID, saw.Name}]
				if req == nil {
					// Where no body tells the names, one request stands for all.
					req = rebuilt[[2]string{saw.AuditID}]
				}
				if req == nil {
					t.Errorf("%s %s: no request was rebuilt", saw.AuditID, saw.Name)
					continue
				}
				what := fmt.Sprintf("%s %s %s/%s %s", saw.AuditID, req.Event.Verb, req.Resource.Resource, req.SubResource, saw.Name)
				compareObject(t, what+" object", req.Object, saw.Object, &object)
				compareObject(t, what+" oldObject", req.OldObject, saw.OldObject, &oldObject)
				if compareRequest(t, what, req, saw.Request) {
					requests++
				}
				compareNamespace(t, what, req, saw)
			}
			atLeast(t, "objects known", object.whole, want.object.whole)
			atLeast(t, "objects known in part", object.whole+object.partly, want.object.whole+want.object.partly)
			atLeast(t, "oldObjects known", oldObject.whole, want.oldObject.whole)
			atLeast(t, "oldObjects known in part", oldObject.whole+oldObject.partly, want.oldObject.whole+want.oldObject.partly)
			atLeast(t, "requests known", requests, want.requests)
			t.Logf("of %d: object %v, oldObject %v, request %d", len(rec.admissions), object, oldObject, requests)
		})
	}
}

func atLeast(t *testing.T, what string, got, want int) {
	t.Helper()
	if got < want {
		t.Errorf("%s: %d, want at least %d", what, got, want)
	}
}

// rebuild replays events as the pipeline does: Observe runs ahead of Requests.
func rebuild(t testing.TB, minor int, rec recording) []*replay.Request {
	t.Helper()
	r := newReplayer(t, replay.Config{Minor: minor}, rec.snapshot)
	const ahead = 256
	decoded := make([]*replay.Decoded, len(rec.events))
	for i, ev := range rec.events {
		decoded[i] = replay.Decode(ev)
	}
	var out []*replay.Request
	seen := 0
	for i, d := range decoded {
		for ; seen < min(i+ahead, len(decoded)); seen++ {
			r.Observe(decoded[seen])
		}
		out = append(out, r.Requests(d)...)
	}
	return out
}

// newReplayer makes a Replayer of a snapshot, the objects that tell kinds first.
func newReplayer(t testing.TB, cfg replay.Config, snapshot []map[string]any) *replay.Replayer {
	t.Helper()
	r := replay.New(cfg)
	for _, first := range []bool{true, false} {
		for _, object := range snapshot {
			kind, _ := object["kind"].(string)
			version, _ := object["apiVersion"].(string)
			if replay.TellsKinds(kind) != first {
				continue
			}
			if err := r.Snapshot(version, kind, object); err != nil {
				t.Fatalf("snapshot of %s: %v", kind, err)
			}
		}
	}
	return r
}

// compareObject compares what is known of an object, and counts it. An object that a policy saw in another version
// than the one it was sent in is left out.
func compareObject(t *testing.T, what string, got replay.Object, want map[string]any, count *known) {
	t.Helper()
	if got.Level == replay.Missing {
		if got.Because == "" {
			t.Errorf("%s is Missing without a reason", what)
		}
		return
	}
	if got.Content != nil && want != nil && got.Content["apiVersion"] != want["apiVersion"] {
		return
	}
	if len(got.Unknown) == 0 {
		count.whole++
	} else {
		count.partly++
	}
	if diff := cmp.Diff(onlyKnown(want, got.Unknown), onlyKnown(got.Content, got.Unknown)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// onlyKnown is an object without the parts that are not known, and without null fields: absent ones, to a policy.
func onlyKnown(content map[string]any, unknown []replay.Unknown) any {
	if content == nil {
		return nil
	}
	var out any = content
	for _, u := range unknown {
		out = drop(out, u.Path)
	}
	return withoutNulls(out)
}

// compareRequest compares what is known of CEL's `request`, and says whether all of it is.
func compareRequest(t *testing.T, what string, req *replay.Request, want map[string]any) bool {
	t.Helper()
	unknown := slices.Clone(req.Unknown)
	if req.Options.Level == replay.Missing {
		unknown = append(unknown, replay.Unknown{Path: []string{"options"}, Because: req.Options.Because})
	}
	for _, u := range req.Options.Unknown {
		unknown = append(unknown, replay.Unknown{Path: append([]string{"options"}, u.Path...), Because: u.Because})
	}
	if diff := cmp.Diff(onlyKnown(want, unknown), onlyKnown(requestVariable(req), unknown)); diff != "" {
		t.Errorf("%s request differs (-want +got):\n%s", what, diff)
	}
	return len(unknown) == 0
}

// requestVariable is CEL's `request`, in which empty strings are absent. The matched resource is left to the engine.
func requestVariable(req *replay.Request) map[string]any {
	gvk := map[string]any{"group": req.Kind.Group, "version": req.Kind.Version, "kind": req.Kind.Kind}
	gvr := map[string]any{"group": req.Resource.Group, "version": req.Resource.Version, "resource": req.Resource.Resource}
	out := map[string]any{
		"kind": gvk, "requestKind": gvk, "resource": gvr, "requestResource": gvr,
		"operation": string(req.Operation), "dryRun": req.DryRun, "userInfo": userVariable(req.User),
	}
	for field, v := range map[string]string{
		"subResource": req.SubResource, "requestSubResource": req.SubResource, "name": req.Name, "namespace": req.Namespace,
	} {
		if v != "" {
			out[field] = v
		}
	}
	if req.Options.Content != nil {
		out["options"] = req.Options.Content
	}
	return out
}

func userVariable(user ingest.UserInfo) map[string]any {
	out := map[string]any{}
	if user.Username != "" {
		out["username"] = user.Username
	}
	if user.UID != "" {
		out["uid"] = user.UID
	}
	if len(user.Groups) > 0 {
		out["groups"] = list(user.Groups)
	}
	extra := map[string]any{}
	for k, v := range user.Extra {
		extra[k] = list(v)
	}
	if len(extra) > 0 {
		out["extra"] = extra
	}
	return out
}

// compareNamespace compares the labels and the identity of the request's Namespace. The plugin reads it from a cache,
// which it shows without the managed fields.
func compareNamespace(t *testing.T, what string, req *replay.Request, saw admission) {
	t.Helper()
	if saw.NamespaceObject == nil {
		return
	}
	got := req.View.Namespace(req.Namespace)
	if got.Level == replay.Missing {
		return
	}
	unknown := append(slices.Clone(got.Unknown), replay.Unknown{Path: []string{"metadata", "managedFields"}})
	unknown = append(unknown, replay.Unknown{Path: []string{"apiVersion"}}, replay.Unknown{Path: []string{"kind"}})
	if diff := cmp.Diff(onlyKnown(saw.NamespaceObject, unknown), onlyKnown(got.Content, unknown)); diff != "" {
		t.Errorf("%s namespaceObject differs (-want +got):\n%s", what, diff)
	}
}

func list(values []string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// drop takes the value at a path out of an object; an empty path is the whole, and * every element of a list.
func drop(v any, path []string) any {
	if len(path) == 0 {
		return nil
	}
	if elements, ok := v.([]any); ok && path[0] == "*" {
		out := make([]any, len(elements))
		for i, element := range elements {
			out[i] = drop(element, path[1:])
		}
		return out
	}
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := maps.Clone(m)
	if inner, ok := out[path[0]]; ok {
		if inner = drop(inner, path[1:]); inner == nil {
			delete(out, path[0])
		} else {
			out[path[0]] = inner
		}
	}
	return out
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if x != nil {
				out[k] = withoutNulls(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = withoutNulls(x)
		}
		return out
	}
	return v
}

func readRecording(t testing.TB, name string) recording {
	t.Helper()
	var rec recording
	readLines(t, name+".snapshot.jsonl.gz", func(line []byte) {
		rec.snapshot = append(rec.snapshot, decodeObject(t, line))
	})
	readLines(t, name+".jsonl.gz", func(line []byte) {
		var entry struct {
			Event     *ingest.Event
			Admission json.RawMessage
		}
		if err := json.Unmarshal(line, &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Event != nil {
			rec.events = append(rec.events, entry.Event)
			return
		}
		var saw admission
		if err := kjson.Unmarshal(entry.Admission, &saw); err != nil {
			t.Fatal(err)
		}
		rec.admissions = append(rec.admissions, saw)
	})
	return rec
}

func decodeObject(t testing.TB, data []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := kjson.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func readLines(t testing.TB, path string, each func([]byte)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		each(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
