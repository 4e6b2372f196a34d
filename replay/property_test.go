package replay_test

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// TestNeverWrong: however the log of a cluster comes — out of order, twice, without bodies here and there, with a
// snapshot from before or after — an object is rebuilt as admission saw it, or said not to be known.
func TestNeverWrong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slow := rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second}).Draw(t, "slow")
		c := newCluster(t, slow)
		before := rapid.IntRange(0, 10).Draw(t, "steps before the log")
		for range before {
			c.step()
		}
		began := len(c.log)
		var snapshots []map[string]map[string]any
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			snapshots = append(snapshots, stateOf(c))
			c.step()
		}
		r := replay.New(replay.Config{Minor: 37})
		log := c.log[began:]
		switch rapid.SampledFrom([]string{"none", "when the log began", "later"}).Draw(t, "snapshot") {
		case "when the log began":
			takeSnapshot(t, r, snapshots[0])
		case "later":
			// What a failed request found may be a state that is gone by then, and no event tells.
			takeSnapshot(t, r, rapid.SampledFrom(snapshots).Draw(t, "taken"))
			log = slices.DeleteFunc(slices.Clone(log), func(l logged) bool { return l.event.ResponseStatus.Code >= 400 })
		}
		check(t, r, log, disturb(t, log), nil)
	})
}

// TestAllKnown: of a whole log of requests that did not overlap, in order, with the snapshot from before, everything is
// known that a successful request saw.
func TestAllKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t, 0)
		for range rapid.IntRange(0, 10).Draw(t, "steps before the log") {
			c.step()
		}
		r := replay.New(replay.Config{Minor: 37})
		takeSnapshot(t, r, stateOf(c))
		began := len(c.log)
		// A first write tells that the snapshot is older than what follows.
		c.create("first")
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			c.step()
		}
		log := c.log[began:]
		var events []*ingest.Event
		for _, l := range log {
			events = append(events, l.event)
		}
		check(t, r, log, events, func(l logged, name string, got replay.Object) {
			if l.event.ResponseStatus.Code >= 400 {
				return // What a failed request made of the object nobody sees.
			}
			if got.Level == replay.Missing || len(got.Unknown) > 0 {
				t.Fatalf("%s %s is %s %s %v", describe(l), name, got.Level, got.Because, got.Unknown)
			}
		})
	})
}

// check rebuilds each request and compares what is known of it with what admission saw.
func check(t *rapid.T, r *replay.Replayer, log []logged, events []*ingest.Event, also func(l logged, name string, got replay.Object)) {
	saw := map[string]logged{}
	for _, l := range log {
		saw[l.event.AuditID] = l
	}
	var decoded []*replay.Decoded
	for _, ev := range events {
		d := replay.Decode(ev)
		decoded = append(decoded, d)
		r.Observe(d)
	}
	for _, d := range decoded {
		l := saw[d.Event.AuditID]
		requests := r.Requests(d)
		if len(requests) != 1 {
			t.Fatalf("%s: %d requests", describe(l), len(requests))
		}
		if !l.admitted || requests[0].OrCreate {
			continue
		}
		for _, part := range []struct {
			name string
			got  replay.Object
			want map[string]any
		}{{"object", requests[0].Object, l.object}, {"oldObject", requests[0].OldObject, l.oldObject}} {
			if also != nil {
				also(l, part.name, part.got)
			}
			if part.got.Level == replay.Missing {
				continue
			}
			if diff := cmp.Diff(onlyKnown(part.want, part.got.Unknown), onlyKnown(part.got.Content, part.got.Unknown)); diff != "" {
				t.Fatalf("%s: %s is wrong (-want +got):\n%s\n%s", describe(l), part.name, diff, story(events))
			}
		}
	}
}

// disturb gives the events of a log as they may come: those of a few places around in any order, some twice, some at
// level Metadata or Request.
func disturb(t *rapid.T, log []logged) []*ingest.Event {
	type placed struct {
		*ingest.Event
		at int
	}
	var out []placed
	for i, l := range log {
		ev := *l.event
		switch rapid.SampledFrom([]string{"whole", "whole", "whole", ingest.LevelMetadata, ingest.LevelRequest}).Draw(t, "level") {
		case ingest.LevelMetadata:
			ev.Level, ev.RequestObject, ev.ResponseObject = ingest.LevelMetadata, nil, nil
		case ingest.LevelRequest:
			ev.Level, ev.ResponseObject = ingest.LevelRequest, nil
		}
		for range rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "times") {
			out = append(out, placed{&ev, i + rapid.IntRange(0, 4).Draw(t, "late")})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].at < out[j].at })
	events := make([]*ingest.Event, len(out))
	for i, p := range out {
		events[i] = p.Event
	}
	return events
}

func stateOf(c *cluster) map[string]map[string]any {
	out := map[string]map[string]any{}
	maps.Copy(out, c.objects)
	return out
}

func takeSnapshot(t *rapid.T, r *replay.Replayer, state map[string]map[string]any) {
	for _, name := range []string{"a", "b"} {
		if state[name] == nil {
			continue
		}
		if err := r.Snapshot("v1", "ConfigMap", state[name]); err != nil {
			t.Fatal(err)
		}
	}
}

func describe(l logged) string {
	return fmt.Sprint(l.event.AuditID, " ", l.event.Verb, " ", l.event.ObjectRef.Name, " ", l.event.ResponseStatus.Code)
}

// story is a log in short, for a person who looks for a fault.
func story(events []*ingest.Event) string {
	out := ""
	for _, ev := range events {
		out += fmt.Sprintf("%s %s %s %s %d [%v, %v] %s\n  %s\n", ev.AuditID, ev.Level, ev.Verb, ev.ObjectRef.Name, ev.ResponseStatus.Code,
			ev.RequestReceivedTimestamp.Sub(epoch), ev.StageTimestamp.Sub(epoch), ev.RequestURI, ev.ResponseObject)
	}
	return out
}
