package replay_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// TestLightRecorded: events whose bodies are decoded late leave the same history behind and come to the same requests.
func TestLightRecorded(t *testing.T) {
	light := 0
	for _, of := range recordings {
		rec := readRecording(t, filepath.Join("testdata/recorded", of.version, of.log))
		for _, keep := range []func(group, resource string) bool{only(), only("apps/deployments", "/pods"), nil} {
			cfg := replay.Config{Minor: of.minor, Keep: keep}
			light += sameLight(t, newReplayer(t, cfg, rec.snapshot), newReplayer(t, cfg, rec.snapshot), rec.events)
		}
	}
	if light == 0 {
		t.Error("no event is decoded late: the test shows nothing")
	}
}

// TestLightLeavesNoTrace: whether the requests of light events are rebuilt makes no difference to the history. An owner
// that is looked up is remembered for longer.
func TestLightLeavesNoTrace(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: web-1-a, namespace: shop, uid: p, resourceVersion: "9"%s}}`
	for _, tt := range []struct {
		owner string
		light bool
	}{{"", true}, {`, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: rs, controller: true}]`, false}} {
		var saved [][]byte
		for _, all := range []bool{true, false} {
			r := newReplayer(t, replay.Config{Minor: 37, Keep: only()}, []map[string]any{object(t, `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: shop, uid: rs, resourceVersion: "3",
				ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}, spec: {replicas: 1}}`)})
			for at := range 2 {
				ev := event(t, fmt.Sprintf(`{verb: update, requestURI: /api/v1/namespaces/shop/pods/web-1-a/status, at: %d, code: 200, responseObject: `+pod+`}`, at+1, tt.owner))
				ev.ResponseObject = canonical(t, ev.ResponseObject)
				d := r.DecodeLight(ev)
				r.Observe(d)
				if d.Light() != tt.light {
					t.Errorf("owner %q: light is %v", tt.owner, d.Light())
				}
				if all || !d.Light() {
					r.Requests(d)[0].Owner()
				}
			}
			saved = append(saved, save(t, r))
		}
		if !bytes.Equal(saved[0], saved[1]) {
			t.Errorf("owner %q: the histories differ", tt.owner)
		}
	}
}

// canonical writes an object as an apiserver does, its kind first.
func canonical(t *testing.T, text []byte) []byte {
	t.Helper()
	var o struct {
		Kind       string          `json:"kind"`
		APIVersion string          `json:"apiVersion"`
		Metadata   json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLightModel: the same of logs that come out of order, twice, with slow requests.
func TestLightModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t, 0)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			c.step()
		}
		cfg := replay.Config{Minor: 37, Keep: only()}
		sameLight(t, replay.New(cfg), replay.New(cfg), disturb(t, c.log))
	})
}

// sameLight shows events to two Replayers, one of which decodes bodies late, and compares what it comes to. It tells how
// many events were decoded late.
func sameLight(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, whole, late *replay.Replayer, events []*ingest.Event,
) (light int) {
	var decoded []*replay.Decoded
	for _, ev := range events {
		d := late.DecodeLight(ev)
		late.Observe(d)
		if decoded = append(decoded, d); d.Light() {
			light++
		}
	}
	if diff := cmp.Diff(replayed(whole, events), rebuilt(late, decoded)); diff != "" {
		t.Fatalf("-whole +late:\n%s", diff)
	}
	if !bytes.Equal(save(t, whole), save(t, late)) {
		t.Fatal("the histories differ")
	}
	return light
}
