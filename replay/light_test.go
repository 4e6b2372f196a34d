package replay_test

import (
	"bytes"
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
