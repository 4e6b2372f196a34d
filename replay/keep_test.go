package replay_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

func only(resources ...string) func(group, resource string) bool {
	return func(group, resource string) bool {
		return slices.Contains(resources, group+"/"+resource)
	}
}

// TestKeep: what is not kept is said to be so, and what any request may hang on is kept anyway.
func TestKeep(t *testing.T) {
	for _, tt := range []struct {
		name string
		keep func(group, resource string) bool
		want string
	}{
		{"everything", nil, "1"},
		{"config maps", only("/configmaps"), "1"},
		{"secrets", only("/secrets"), string(replay.NotKept)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReplayer(t, replay.Config{Minor: 37, Keep: tt.keep}, []map[string]any{object(t, namespaceShop)})
			observed(r, write(t, "create", "c", "u", 1, 1))
			if got := oldRevision(t, r, observed(r, write(t, "patch", "c", "u", 2, 2))); got != tt.want {
				t.Errorf("old object %s, want %s", got, tt.want)
			}
			if got := r.View(moment(3), moment(4)).Namespace("shop"); got.Null() || got.Level == replay.Missing {
				t.Errorf("namespace: %v", got)
			}
		})
	}
}

// TestKeepEvents: events of both groups are the same objects, and are asked for as those of the core group.
func TestKeepEvents(t *testing.T) {
	var asked []string
	r := replay.New(replay.Config{Minor: 37, Keep: func(group, resource string) bool {
		asked = append(asked, group+"/"+resource)
		return true
	}})
	observed(r, event(t, `{verb: create, requestURI: /apis/events.k8s.io/v1/namespaces/shop/events, at: 1, code: 201,
		responseObject: {apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: e, namespace: shop, uid: u, resourceVersion: "3"}}}`))
	if len(asked) != 1 || asked[0] != "/events" {
		t.Errorf("asked for %v", asked)
	}
}

// TestKeepOwners: of what owns pods it is kept who owns it, and the rest is not.
func TestKeepOwners(t *testing.T) {
	const replicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: shop, uid: rs, resourceVersion: "%d",
		ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}, spec: {replicas: 1}}`
	for _, from := range []string{"the snapshot", "the log", "a saved history"} {
		t.Run(from, func(t *testing.T) {
			cfg := replay.Config{Minor: 37, Keep: only()}
			r := replay.New(cfg)
			if from == "the snapshot" {
				giveSnapshot(t, r, []map[string]any{object(t, fmt.Sprintf(replicaSet, 3))})
			} else {
				observed(r, event(t, `{verb: create, requestURI: /apis/apps/v1/namespaces/shop/replicasets, at: 1, code: 201, responseObject: `+fmt.Sprintf(replicaSet, 3)+`}`))
			}
			if from == "a saved history" {
				saved := save(t, r)
				r = replay.New(cfg)
				restore(t, r, saved)
			}
			pod := observed(r, event(t, `{verb: create, requestURI: /api/v1/namespaces/shop/pods, at: 5, code: 201, responseObject: {apiVersion: v1, kind: Pod,
				metadata: {name: web-1-a, namespace: shop, uid: p, resourceVersion: "5", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: rs, controller: true}]}}}`))
			owner := r.Requests(pod)[0].Owner()
			if owner == nil || *owner != (replay.Owner{Kind: "Deployment", Name: "web"}) {
				t.Errorf("owner %v", owner)
			}
			patch := observed(r, event(t, `{verb: patch, requestURI: /apis/apps/v1/namespaces/shop/replicasets/web-1, at: 6, code: 200, responseObject: `+fmt.Sprintf(replicaSet, 6)+`}`))
			if got := oldRevision(t, r, patch); got != string(replay.NotKept) {
				t.Errorf("old object %s", got)
			}
		})
	}
}

// TestKeepRestored: what is not kept is not restored either, as it goes out of date; nor is it taken to be listed.
func TestKeepRestored(t *testing.T) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{
		object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, uid: u, resourceVersion: "3"}}`)})
	saved := save(t, r)
	r = replay.New(replay.Config{Minor: 37, Keep: only()})
	restore(t, r, saved)
	saved = save(t, r)
	r = replay.New(replay.Config{Minor: 37})
	restore(t, r, saved)
	if got := r.View(moment(1), moment(2)).Param(configMaps, "shop", "c"); got.Because != replay.NoParams {
		t.Errorf("params: %v", got)
	}
}

// TestEvicted: what had to go is not taken to be absent.
func TestEvicted(t *testing.T) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	var snapshot []map[string]any
	for i := range 20 {
		snapshot = append(snapshot, object(t, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: shop, uid: u%d, resourceVersion: "3"}}`, i, i)))
	}
	check := func(t *testing.T, r *replay.Replayer) {
		view := r.View(moment(1), moment(2))
		if got := view.Param(configMaps, "shop", "c0"); got.Because != replay.Evicted {
			t.Errorf("evicted: %v", got)
		}
		if got := view.Param(configMaps, "shop", "c19"); got.Content == nil {
			t.Errorf("the last: %v", got)
		}
		if got := view.Param(configMaps, "shop", "absent"); !got.Null() {
			t.Errorf("absent: %v", got)
		}
		if _, got := view.Params(configMaps, "shop", labels.Everything()); got.Because != replay.Evicted {
			t.Errorf("all: %v", got)
		}
		if size := r.HistorySize(); size.Evicted == 0 || size.Objects == 0 || size.Objects+size.Evicted != 20 {
			t.Errorf("size %+v", size)
		}
	}
	r := newReplayer(t, replay.Config{Minor: 37, HistoryBytes: 8000}, snapshot)
	t.Run("in one run", func(t *testing.T) { check(t, r) })
	second := replay.New(replay.Config{Minor: 37, HistoryBytes: 8000})
	restore(t, second, save(t, r))
	t.Run("in the next", func(t *testing.T) { check(t, second) })
}

// TestEvictedForgotten: what is evicted is remembered within bounds, and beyond these nothing is taken to be absent.
func TestEvictedForgotten(t *testing.T) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	r := newReplayer(t, replay.Config{Minor: 37, HistoryBytes: 1}, []map[string]any{
		object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, uid: u, resourceVersion: "3"}}`)})
	for i := range 20_000 {
		observed(r, write(t, "create", fmt.Sprint("c", i), fmt.Sprint("u", i), i+10, float64(i)))
	}
	for _, name := range []string{"c", "c19998", "absent"} {
		if got := r.View(moment(30_000), moment(30_001)).Param(configMaps, "shop", name); got.Because != replay.Evicted {
			t.Errorf("%s: %v", name, got)
		}
	}
	if size := r.HistorySize(); size.Evicted > 8192 {
		t.Errorf("%d are remembered", size.Evicted)
	}
}

// TestUsedStay: an object that is looked at stays longer than one that is only written.
func TestUsedStay(t *testing.T) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	r := replay.New(replay.Config{Minor: 37, HistoryBytes: 20_000})
	for i := range 100 {
		observed(r, write(t, "create", fmt.Sprint("c", i), fmt.Sprint("u", i), i+10, float64(i)))
		r.View(moment(1000), moment(1001)).Param(configMaps, "shop", "c0")
	}
	view := r.View(moment(1000), moment(1001))
	if got := view.Param(configMaps, "shop", "c0"); got.Content == nil {
		t.Errorf("looked at: %v", got)
	}
	if got := view.Param(configMaps, "shop", "c1"); got.Because != replay.Evicted {
		t.Errorf("not looked at: %v", got)
	}
}

// TestPackedSame: an object that was packed and unpacked is the one that it was, to the form of its numbers.
func TestPackedSame(t *testing.T) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	want := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "c", "namespace": "shop", "uid": "u", "managedFields": []any{map[string]any{"manager": "m"}}},
		"data": map[string]any{
			"whole": int64(2), "wholeFloat": 2.0, "half": -0.5, "large": 1e30, "small": 1e-9, "most": int64(1<<63 - 1), "minusZero": 1 / (-1e308 * 1e308),
			"text": "\"\\\n\u2028é\x7f<&>", "empty": "", "none": nil, "true": true, "list": []any{}, "map": map[string]any{}, "nested": []any{[]any{1.0, int64(1)}, nil},
		},
	}
	r := replay.New(replay.Config{Minor: 37, HistoryBytes: 1}) // Nothing is held unpacked.
	if err := r.Snapshot("v1", "ConfigMap", maps.Clone(want)); err != nil {
		t.Fatal(err)
	}
	got := r.View(moment(1), moment(2)).Param(configMaps, "shop", "c").Content
	if a, b := fmt.Sprintf("%#v", want), fmt.Sprintf("%#v", got); a != b {
		t.Errorf("want %s\ngot  %s", a, b)
	}
}

// TestNeverWrongBounded: with little memory, and with hardly any, an object is rebuilt as admission saw it, or said not
// to be known.
func TestNeverWrongBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t, rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second}).Draw(t, "slow"))
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			c.step()
		}
		r := replay.New(replay.Config{Minor: 37, HistoryBytes: rapid.Int64Range(1, 8000).Draw(t, "bytes")})
		check(t, r, c.log, disturb(t, c.log), nil)
	})
}

// TestHistorySize: the estimate of what the history takes is within a factor of two of what it takes. What decoded objects
// have in common is held once, so that they may take less.
func TestHistorySize(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bytes  int64
		atMost int64
	}{{"mostly unpacked", 0, 6}, {"mostly packed", 4 << 20, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			before := heap()
			r, objects := filled(t, replay.Config{Minor: 37, HistoryBytes: tt.bytes}, 40)
			took, size := heap()-before, r.HistorySize()
			t.Logf("%d writes: %+v, the heap grew by %d: %d an object", objects, size, took, took/int64(size.Objects))
			if size.Bytes > tt.atMost*took || took > 2*size.Bytes {
				t.Errorf("about %d bytes, and it takes %d", size.Bytes, took)
			}
			if tt.bytes > 0 && size.Bytes > tt.bytes+tt.bytes/8 {
				t.Errorf("%d bytes are over the limit of %d", size.Bytes, tt.bytes)
			}
			runtime.KeepAlive(r)
		})
	}
}

func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// filled replays a recording several times, each with names of its own.
func filled(t testing.TB, cfg replay.Config, times int) (r *replay.Replayer, writes int) {
	t.Helper()
	r = replay.New(cfg)
	rec := readRecording(t, filepath.Join("testdata/recorded/v1.37.1/requestresponse"))
	for n := range times {
		for _, ev := range rec.events {
			if ev.ObjectRef.Name != "" && ev.ResponseObject != nil {
				r.Observe(replay.Decode(renamed(ev, n)))
				writes++
			}
		}
	}
	return r, writes
}

func renamed(ev *ingest.Event, n int) *ingest.Event {
	out, ref := *ev, *ev.ObjectRef
	ref.Name = fmt.Sprint(ref.Name, "-", n)
	out.ObjectRef = &ref
	return &out
}

// BenchmarkHistory writes objects and looks them up; it reports what an object takes.
func BenchmarkHistory(b *testing.B) {
	for _, bytes := range []int64{0, 4 << 20} {
		b.Run(fmt.Sprint("add/bytes=", bytes), func(b *testing.B) {
			rec := readRecording(b, "testdata/recorded/v1.37.1/requestresponse")
			var decoded []*replay.Decoded
			for n := range 10 {
				for _, ev := range rec.events {
					if ev.ObjectRef.Name != "" && ev.ResponseObject != nil {
						decoded = append(decoded, replay.Decode(renamed(ev, n)))
					}
				}
			}
			var r *replay.Replayer
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				if i%len(decoded) == 0 {
					r = replay.New(replay.Config{Minor: 37, HistoryBytes: bytes})
				}
				r.Observe(decoded[i%len(decoded)])
			}
		})
		b.Run(fmt.Sprint("lookup/bytes=", bytes), func(b *testing.B) {
			r, _ := filled(b, replay.Config{Minor: 37, HistoryBytes: bytes}, 10)
			configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
			from := rest(b).Add(time.Hour)
			name, namespace := someConfigMap(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r.View(from, from).Param(configMaps, namespace, fmt.Sprint(name, "-", i%10))
			}
			size := r.HistorySize()
			b.ReportMetric(float64(size.Bytes)/float64(size.Objects), "B/object")
		})
	}
}

func rest(b *testing.B) time.Time {
	rec := readRecording(b, "testdata/recorded/v1.37.1/requestresponse")
	return rec.events[len(rec.events)-1].StageTimestamp
}

func someConfigMap(b *testing.B) (name, namespace string) {
	b.Helper()
	for _, ev := range readRecording(b, "testdata/recorded/v1.37.1/requestresponse").events {
		if ref := ev.ObjectRef; ref.Resource == "configmaps" && ev.Verb != "delete" && ref.Name != "" && ev.ResponseObject != nil {
			return ref.Name, ref.Namespace
		}
	}
	b.Fatal("no ConfigMap")
	return "", ""
}
