package replay_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// TestSaveRecorded: a log that is replayed in two runs, with the history saved in between, gives what it gives in one.
func TestSaveRecorded(t *testing.T) {
	for _, of := range recordings {
		t.Run(of.version+"/"+of.log, func(t *testing.T) {
			rec := readRecording(t, filepath.Join("testdata/recorded", of.version, of.log))
			for _, part := range []int{0, 3, 5, 9, 10} {
				at := len(rec.events) * part / 10
				cfg := replay.Config{Minor: of.minor}
				whole := newReplayer(t, cfg, rec.snapshot)
				first := replayed(whole, rec.events[:at])
				if again := replayed(newReplayer(t, cfg, rec.snapshot), rec.events[:at]); !slices.Equal(first, again) {
					t.Fatal("two runs differ")
				}
				saved := save(t, whole)
				second := replay.New(cfg)
				restore(t, second, saved)
				if !bytes.Equal(saved, save(t, second)) {
					t.Errorf("at %d: what was restored is saved otherwise", at)
				}
				// A snapshot that is given again is older than the history.
				giveSnapshot(t, second, rec.snapshot)
				if diff := cmp.Diff(replayed(whole, rec.events[at:]), replayed(second, rec.events[at:])); diff != "" {
					t.Fatalf("at %d: -whole +in two:\n%s", at, diff)
				}
			}
		})
	}
}

// TestSaveModel: the same of logs that come out of order, twice, with and without pauses beyond the horizon.
func TestSaveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t, rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second}).Draw(t, "slow"))
		steps := rapid.IntRange(1, 25).Draw(t, "steps")
		for range steps {
			c.now = c.now.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, time.Minute, time.Hour}).Draw(t, "long pause"))
			c.step()
		}
		events := disturb(t, c.log)
		at := rapid.IntRange(0, len(events)).Draw(t, "cut")
		whole := replay.New(replay.Config{Minor: 37})
		replayed(whole, events[:at])
		second := replay.New(replay.Config{Minor: 37})
		restore(t, second, save(t, whole))
		// An event from beyond the horizon of the history is one of those that a history does not tell of.
		rest := slices.DeleteFunc(slices.Clone(events[at:]), func(ev *ingest.Event) bool {
			return slices.ContainsFunc(events[:at], func(before *ingest.Event) bool {
				return before.StageTimestamp.Sub(ev.RequestReceivedTimestamp) > 5*time.Minute
			})
		})
		if diff := cmp.Diff(replayed(whole, rest), replayed(second, rest)); diff != "" {
			t.Fatalf("-whole +in two:\n%s\n%s", diff, story(events))
		}
	})
}

// replayed observes events and then tells what is rebuilt of each.
func replayed(r *replay.Replayer, events []*ingest.Event) []string {
	var decoded []*replay.Decoded
	for _, ev := range events {
		d := replay.Decode(ev)
		r.Observe(d)
		decoded = append(decoded, d)
	}
	return rebuilt(r, decoded)
}

// rebuilt tells what is rebuilt of events that were observed.
func rebuilt(r *replay.Replayer, decoded []*replay.Decoded) (out []string) {
	for _, d := range decoded {
		for _, req := range r.Requests(d) {
			rbac, evidence := req.View.RBAC()
			out = append(out, fmt.Sprint(
				req.Event.AuditID, req.Operation, req.Kind, req.Name, req.OrCreate, req.Unknown, req.Options, req.Object, req.OldObject,
				req.View.Namespace(req.Namespace), req.View.RBACChanges(rbac.Changes) == nil, rbac.Pending, evidence, req.Owner(),
				req.View.Resources().Equivalents(req.Resource, req.SubResource)))
		}
	}
	return out
}

func save(t interface{ Fatal(...any) }, r *replay.Replayer) []byte {
	var out bytes.Buffer
	if err := r.Save(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func restore(t interface{ Fatal(...any) }, r *replay.Replayer, saved []byte) {
	if err := r.Restore(bytes.NewReader(saved)); err != nil {
		t.Fatal(err)
	}
}

func giveSnapshot(t testing.TB, r *replay.Replayer, snapshot []map[string]any) {
	t.Helper()
	for _, first := range []bool{true, false} {
		for _, object := range snapshot {
			kind, _ := object["kind"].(string)
			version, _ := object["apiVersion"].(string)
			if replay.TellsKinds(kind) == first {
				if err := r.Snapshot(version, kind, object); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestSavedGone: an object that is gone does not come back with an old snapshot, also where it went long ago.
func TestSavedGone(t *testing.T) {
	snapshot := []map[string]any{
		object(t, namespaceShop),
		object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, uid: u, resourceVersion: "3"}}`),
	}
	r := newReplayer(t, replay.Config{Minor: 37}, snapshot)
	for _, ev := range []string{
		`{verb: delete, requestURI: /api/v1/namespaces/shop/configmaps/c, at: 2, code: 200, responseObject: {apiVersion: v1, kind: Status, status: Success, details: {uid: u}}}`,
		`{verb: delete, requestURI: /api/v1/namespaces/shop, at: 3, code: 200, responseObject: {apiVersion: v1, kind: Status, status: Success, details: {uid: ns}}}`,
	} {
		observed(r, event(t, ev))
	}
	observed(r, write(t, "create", "later", "v", 9, 5000))
	second := replay.New(replay.Config{Minor: 37})
	restore(t, second, save(t, r))
	giveSnapshot(t, second, snapshot)
	if got := second.View(moment(6000), moment(6001)).Namespace("shop"); !got.Null() {
		t.Errorf("namespace: %v", got)
	}
	patch := observed(second, write(t, "patch", "c", "w", 20, 6000))
	if got := oldRevision(t, second, patch); got != string(replay.NoHistory) {
		t.Errorf("old object %s", got)
	}
}

// TestRestoreDamaged: whatever is wrong with a file is an error.
func TestRestoreDamaged(t *testing.T) {
	r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{object(t, namespaceShop)})
	observed(r, write(t, "create", "c", "u", 1, 1))
	good := unzstd(t, save(t, r))
	lines := strings.SplitAfter(string(good), "\n")
	last := lines[len(lines)-2]
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "this is no history: want a file that vapshadow wrote"},
		{"something else", `{"kind":"Event"}`, "this is no history: want a file that vapshadow wrote"},
		{"from the future", strings.Replace(string(good), `"version":1`, `"version":2`, 1), "the history has format version 2, and this vapshadow reads version 1: begin a new one"},
		{"cut", strings.TrimSuffix(string(good), last), "the history is cut: its last lines are missing"},
		{"cut within a line", string(good[:len(good)-len(last)-20]), "reading line 4 of the history: unexpected EOF"},
		{"a line less", strings.Replace(string(good), lines[2], "", 1), "reading line 4 of the history: it counts 4 lines before it, and there are 3: the file was damaged"},
		{"a line of another kind", lines[0] + `{"future":1}` + "\n", "reading line 2 of the history: it holds nothing that this vapshadow knows"},
		{"text after the end", string(good) + "{}", "the history goes on after its last line: it was damaged"},
		{"no name", lines[0] + `{"object":{"resource":"pods"}}`, "reading line 2 of the history: an object has no name, or no versions"},
		{"no object", lines[0] + `{"object":{"resource":"pods","name":"p","versions":[{"content":[]}]}}`, `reading line 2 of the history: pods "p": content is no object`},
		{"no write", lines[0] + `{"object":{"resource":"pods","name":"p","versions":[{"event":{"verb":"get"}}]}}`, `reading line 2 of the history: pods "p": an event is no admission request`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := replay.New(replay.Config{Minor: 37}).Restore(bytes.NewReader(zstandard([]byte(tt.text))))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
	if err := replay.New(replay.Config{Minor: 37}).Restore(strings.NewReader("apiVersion: v1\n")); err == nil || err.Error() != "this is no history: want a file that vapshadow wrote" {
		t.Errorf("YAML: %v", err)
	}
	whole := save(t, r)
	for n := range len(whole) {
		if err := replay.New(replay.Config{Minor: 37}).Restore(bytes.NewReader(whole[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a history", n, len(whole))
		}
	}
}

// FuzzRestore: no file does harm; one that is taken can be saved again.
func FuzzRestore(f *testing.F) {
	rec := readRecording(f, "testdata/recorded/v1.37.1/metadata")
	r := newReplayer(f, replay.Config{Minor: 37}, rec.snapshot[:20])
	replayed(r, rec.events[:50])
	f.Add(unzstd(f, save(f, r)))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := replay.New(replay.Config{Minor: 37, HistoryBytes: 1 << 20})
		if err := r.Restore(bytes.NewReader(zstandard(text))); err != nil {
			return
		}
		replayed(r, rec.events[50:60])
		save(t, r)
	})
}

func zstandard(text []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(text, nil)
}

func unzstd(t testing.TB, data []byte) []byte {
	t.Helper()
	r, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, err := r.DecodeAll(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
