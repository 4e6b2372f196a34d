package replay_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// FuzzRequests: whatever an event and a snapshot hold, there is no panic, and what is Missing says why.
func FuzzRequests(f *testing.F) {
	seedEvents(f)
	f.Fuzz(func(t *testing.T, snapshot, first, second []byte) {
		r := replay.New(replay.Config{Minor: 37, HistoryBytes: 1 << 20})
		var content map[string]any
		if kjson.Unmarshal(snapshot, &content) == nil && content != nil {
			kind, _ := content["kind"].(string)
			version, _ := content["apiVersion"].(string)
			// A kind that nothing tells of is an error, and no more than that.
			_ = r.Snapshot(version, kind, content)
		}
		var decoded []*replay.Decoded
		for _, data := range [][]byte{first, second} {
			ev := &ingest.Event{}
			if json.Unmarshal(data, ev) != nil {
				return
			}
			d := replay.Decode(ev)
			r.Observe(d)
			decoded = append(decoded, d)
		}
		for _, d := range decoded {
			for _, req := range r.Requests(d) {
				for name, o := range map[string]replay.Object{"object": req.Object, "oldObject": req.OldObject, "options": req.Options} {
					if o.Level == replay.Missing && o.Because == "" || o.Level == "" {
						t.Errorf("%s is %q because %q", name, o.Level, o.Because)
					}
				}
				req.View.Namespace(req.Namespace)
				req.Owner()
			}
		}
	})
}

// seedEvents seeds with the events of the rules, each with the one before it.
func seedEvents(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no files", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		snapshot := []byte("null")
		last := []byte(`{"stage":"ResponseComplete"}`)
		for _, part := range txtar.Parse(data).Files {
			switch part.Name {
			case "snapshot.yaml":
				snapshot = encoded(object(f, string(documents(part.Data)[0])))
			case "before.yaml", "events.yaml":
				for _, ev := range events(f, part.Name, part.Data) {
					next, err := json.Marshal(ev)
					if err != nil {
						f.Fatal(err)
					}
					f.Add(snapshot, last, next)
					last = next
				}
			}
		}
	}
}
