package replay_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/replay"
)

// needed is a Keep whose answers change.
type needed struct {
	mu        sync.Mutex
	resources []string
}

func (n *needed) keep(group, resource string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.resources, group+"/"+resource)
}

func (n *needed) set(resources ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resources = resources
}

// TestRekeep: what is needed later is kept from then on, and what was before is said not to have been.
func TestRekeep(t *testing.T) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	var n needed
	r := newReplayer(t, replay.Config{Minor: 37, Keep: n.keep}, []map[string]any{
		object(t, namespaceShop), object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: given, namespace: shop, uid: g, resourceVersion: "1"}}`)})
	observed(r, write(t, "create", "c", "u", 1, 1))
	if got := r.Rekeep(); got != nil {
		t.Errorf("nothing changed, and %v began", got)
	}
	n.set("/configmaps", "/secrets")
	if diff := cmp.Diff([]schema.GroupResource{{Resource: "configmaps"}}, r.Rekeep()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff) // Of secrets nothing was seen so far, so that nothing is lost of them.
	}
	if got := oldRevision(t, r, observed(r, write(t, "patch", "c", "u", 2, 2))); got != string(replay.NotKept) {
		t.Errorf("the object before was %s", got)
	}
	if got := oldRevision(t, r, observed(r, write(t, "patch", "c", "u", 3, 3))); got != "2" {
		t.Errorf("the object before was %s", got)
	}
	view := r.View(moment(4), moment(5))
	for name, want := range map[string]replay.Evidence{
		"c": {Level: replay.Exact}, "given": {Level: replay.Missing, Because: replay.NotKept}, "other": {Level: replay.Missing, Because: replay.NotKept},
	} {
		got := view.Param(configMaps, "shop", name).Evidence
		if got.Because != want.Because || (got.Level == replay.Missing) != (want.Level == replay.Missing) {
			t.Errorf("params %s: %v", name, got)
		}
	}
	if _, got := view.Params(configMaps, "shop", labels.Everything()); got.Because != replay.NotKept {
		t.Errorf("params by selector: %v", got)
	}
	if got := view.Param(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "shop", "c"); got.Because != replay.NoParams {
		t.Errorf("a Secret: %v", got)
	}
}

// TestRekeepLess: what is no longer needed stays kept. Needed again, its history would have a gap.
func TestRekeepLess(t *testing.T) {
	var n needed
	n.set("/configmaps")
	r := replay.New(replay.Config{Minor: 37, Keep: n.keep})
	observed(r, write(t, "create", "c", "u", 1, 1))
	n.set()
	r.Rekeep()
	observed(r, write(t, "patch", "c", "u", 2, 2))
	n.set("/configmaps")
	r.Rekeep()
	if got := oldRevision(t, r, observed(r, write(t, "patch", "c", "u", 3, 3))); got != "2" {
		t.Errorf("the object before was %s", got)
	}
}

// TestRekeepMeanwhile asks while answers change: no answer of before may stay.
func TestRekeepMeanwhile(t *testing.T) {
	for range 200 {
		var n needed
		asked := make(chan struct{}, 10)
		r := replay.New(replay.Config{Minor: 37, Keep: func(group, resource string) bool {
			keep := n.keep(group, resource)
			asked <- struct{}{}
			for range 100 {
				runtime.Gosched() // The answer is old before it is heard.
			}
			return keep
		}})
		var asking sync.WaitGroup
		asking.Go(func() { r.Observe(replay.Decode(write(t, "create", "c", "u", 1, 1))) })
		<-asked
		n.set("/configmaps")
		r.Rekeep()
		asking.Wait()
		r.Observe(replay.Decode(write(t, "patch", "c", "u", 2, 2)))
		if got := oldRevision(t, r, observed(r, write(t, "patch", "c", "u", 3, 3))); got != "2" {
			t.Fatalf("the object before was %s", got)
		}
	}
}
