package replay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// write is an event that wrote a ConfigMap at a moment, in seconds.
func write(t testing.TB, verb, name, uid string, rv int, at float64) *ingest.Event {
	t.Helper()
	code, uri := 200, "/api/v1/namespaces/shop/configmaps"
	if verb == "create" {
		code = 201
	} else {
		uri += "/" + name
	}
	return event(t, fmt.Sprintf(`
auditID: %s-%d-%v
verb: %s
requestURI: %s
at: %v
code: %d
responseObject: {apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: shop, uid: %s, resourceVersion: "%d", managedFields: [{manager: m}]}, data: {written: "%d"}}
`, verb, rv, at, verb, uri, at, code, name, uid, rv, rv))
}

// observed decodes an event and shows it to a Replayer.
func observed(r *replay.Replayer, ev *ingest.Event) *replay.Decoded {
	d := replay.Decode(ev)
	r.Observe(d)
	return d
}

func oldRevision(t testing.TB, r *replay.Replayer, d *replay.Decoded) string {
	t.Helper()
	requests := r.Requests(d)
	if len(requests) != 1 {
		t.Fatalf("%d requests", len(requests))
	}
	old := requests[0].OldObject
	if old.Level == replay.Missing {
		return string(old.Because)
	}
	metadata, _ := old.Content["metadata"].(map[string]any)
	return fmt.Sprint(metadata["resourceVersion"])
}

// TestHistoryBytes: the objects that were written longest ago go first, and what they were is Missing, not guessed.
func TestHistoryBytes(t *testing.T) {
	const objects = 100
	for _, tt := range []struct {
		limit         int64
		first, newest string
	}{
		{limit: 0, first: "1", newest: "100"},
		{limit: 20_000, first: string(replay.Evicted), newest: "100"},
		// The object at hand is kept, however small the limit.
		{limit: 1, first: string(replay.Evicted), newest: "100"},
	} {
		t.Run(fmt.Sprint(tt.limit), func(t *testing.T) {
			r := replay.New(replay.Config{Minor: 37, HistoryBytes: tt.limit})
			for i := 1; i <= objects; i++ {
				observed(r, write(t, "create", fmt.Sprintf("c%d", i), fmt.Sprintf("u%d", i), i, float64(i)))
			}
			newest := observed(r, write(t, "patch", "c100", "u100", 1001, 201))
			if got := oldRevision(t, r, newest); got != tt.newest {
				t.Errorf("the newest object was %s, want %s", got, tt.newest)
			}
			first := observed(r, write(t, "patch", "c1", "u1", 1000, 200))
			if got := oldRevision(t, r, first); got != tt.first {
				t.Errorf("the first object was %s, want %s", got, tt.first)
			}
		})
	}
}

// TestHistoryHorizon: earlier versions of an object are kept for the requests that were received before a later write
// and are logged after it, for five minutes.
func TestHistoryHorizon(t *testing.T) {
	for _, tt := range []struct {
		name string
		last float64 // when the last write was made
		want string
	}{
		{"within", 250, "1"},
		{"beyond", 1000, string(replay.NoHistory)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := replay.New(replay.Config{Minor: 37})
			observed(r, write(t, "create", "c", "u", 1, 0))
			observed(r, write(t, "patch", "c", "u", 3, 200))
			observed(r, write(t, "patch", "c", "u", 4, tt.last))
			late := observed(r, write(t, "patch", "c", "u", 2, 100))
			if got := oldRevision(t, r, late); got != tt.want {
				t.Errorf("old object %s, want %s", got, tt.want)
			}
		})
	}
}

// TestHistoryRepeated: an event that is delivered twice is one write.
func TestHistoryRepeated(t *testing.T) {
	r := replay.New(replay.Config{Minor: 37})
	observed(r, write(t, "create", "c", "u", 1, 1))
	patch := observed(r, write(t, "patch", "c", "u", 2, 2))
	observed(r, patch.Event)
	if got := oldRevision(t, r, patch); got != "1" {
		t.Errorf("old object %s, want 1", got)
	}
}

// TestHistoryGoneForgotten: an object that is long gone is not kept, and one of the same name is another.
func TestHistoryGoneForgotten(t *testing.T) {
	r := replay.New(replay.Config{Minor: 37})
	observed(r, write(t, "create", "c", "u", 1, 1))
	observed(r, event(t, `{verb: delete, requestURI: /api/v1/namespaces/shop/configmaps/c, at: 2, code: 200,
		responseObject: {apiVersion: v1, kind: Status, status: Success, details: {uid: u}}}`))
	observed(r, write(t, "create", "c", "v", 3, 1000))
	patch := observed(r, write(t, "patch", "c", "v", 4, 1001))
	if got := oldRevision(t, r, patch); got != "3" {
		t.Errorf("old object %s, want 3", got)
	}
}

const namespaceShop = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: ns, resourceVersion: "5", labels: {tier: gold, team: a}, managedFields: [{manager: m}]}}`

// TestViewNamespace: a write counts once it has surely come to the apiserver's caches; while it is on its way, what it
// changes is not known.
func TestViewNamespace(t *testing.T) {
	r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{object(t, namespaceShop)})
	observed(r, event(t, `{verb: patch, requestURI: /api/v1/namespaces/shop, at: 10, took: 1, code: 200,
		responseObject: {apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: ns, resourceVersion: "7", labels: {tier: lead, team: a}, managedFields: [{manager: m}]}}}`))
	for _, tt := range []struct {
		name      string
		namespace string
		from, to  float64
		level     replay.Level
		tier      any
		unknown   []string
	}{
		{"before", "shop", 5, 6, replay.Presumed, "gold", nil},
		{"while it is written", "shop", 9, 10.5, replay.Presumed, "gold", []string{"metadata.labels.tier", "metadata.resourceVersion"}},
		{"while caches may lag", "shop", 11.02, 11.03, replay.Presumed, "gold", []string{"metadata.labels.tier", "metadata.resourceVersion"}},
		{"after", "shop", 11.1, 11.2, replay.Presumed, "lead", nil},
		{"not there", "other", 5, 6, replay.Presumed, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			view := r.View(moment(tt.from), moment(tt.to))
			got := view.Namespace(tt.namespace)
			metadata, _ := got.Content["metadata"].(map[string]any)
			tags, _ := metadata["labels"].(map[string]any)
			var unknown []string
			for _, u := range got.Unknown {
				unknown = append(unknown, u.String())
			}
			if got.Level != tt.level || tags["tier"] != tt.tier {
				t.Errorf("%s with tier %v, want %s with %v", got.Level, tags["tier"], tt.level, tt.tier)
			}
			if diff := cmp.Diff(tt.unknown, unknown); diff != "" {
				t.Errorf("unknown: -want +got:\n%s", diff)
			}
		})
	}
}

func TestViewWithoutSnapshot(t *testing.T) {
	view := replay.New(replay.Config{Minor: 37}).View(moment(1), moment(2))
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	if got := view.Namespace("shop"); got.Because != replay.NoNamespace {
		t.Errorf("namespace: %s", got.Because)
	}
	if got := view.Param(configMaps, "shop", "p"); got.Because != replay.NoParams {
		t.Errorf("param: %s", got.Because)
	}
	if _, got := view.Params(configMaps, "shop", labels.Everything()); got.Because != replay.NoParams {
		t.Errorf("params: %s", got.Because)
	}
	if _, got := view.RBAC(); got.Because != replay.NoRBAC {
		t.Errorf("RBAC: %s", got.Because)
	}
}

// TestViewParams: params come and go in the log. A params object that is being made may or may not be there yet.
func TestViewParams(t *testing.T) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{
		object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: shop, uid: b, resourceVersion: "5", labels: {app: x}}}`),
		object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: shop, uid: o, resourceVersion: "6"}}`),
	})
	observed(r, event(t, `{verb: create, requestURI: /api/v1/namespaces/shop/configmaps, at: 10, took: 1, code: 201,
		responseObject: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: a, resourceVersion: "7", labels: {app: x}}}}`))
	observed(r, event(t, `{verb: delete, requestURI: /api/v1/namespaces/shop/configmaps/b, at: 20, took: 1, code: 200,
		responseObject: {apiVersion: v1, kind: Status, status: Success, details: {uid: b}}}`))
	observed(r, event(t, `{level: Metadata, verb: patch, requestURI: /api/v1/namespaces/shop/configmaps/a, at: 30, took: 1, code: 200}`))
	for _, tt := range []struct {
		at    float64
		names []string
		level replay.Level
	}{
		{5, []string{"b"}, replay.Presumed},
		{10.5, nil, replay.Missing},
		{15, []string{"a", "b"}, replay.Presumed},
		{25, []string{"a"}, replay.Presumed},
		{35, nil, replay.Missing},
	} {
		got, evidence := r.View(moment(tt.at), moment(tt.at+0.1)).Params(configMaps, "shop", labels.SelectorFromSet(labels.Set{"app": "x"}))
		var names []string
		for _, o := range got {
			metadata, _ := o.Content["metadata"].(map[string]any)
			names = append(names, metadata["name"].(string))
		}
		if diff := cmp.Diff(tt.names, names); diff != "" || evidence.Level != tt.level {
			t.Errorf("at %v: %s, want %s; -want +got:\n%s", tt.at, evidence.Level, tt.level, diff)
		}
	}
	if got := r.View(moment(15), moment(15.1)).Param(configMaps, "shop", "absent"); !got.Null() {
		t.Errorf("params that are not there: %v", got)
	}
}

func moment(seconds float64) time.Time {
	return epoch.Add(time.Duration(seconds * float64(time.Second)))
}
