package replay_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/replay"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// seen is a state of the ConfigMap c, written at some second and seen at another.
func seen(t testing.TB, rv int, written, by float64, deleted bool) replay.Seen {
	t.Helper()
	return replay.Seen{APIVersion: "v1", Kind: "ConfigMap", Deleted: deleted, By: moment(by), Content: object(t, fmt.Sprintf(
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, uid: u, resourceVersion: "%d", creationTimestamp: "%s", managedFields: [{manager: m, time: "%s"}]}}`,
		rv, stamp(0), stamp(written)))}
}

func tell(t testing.TB, r *replay.Replayer, states ...replay.Seen) {
	t.Helper()
	for _, s := range states {
		if err := r.Watched(s); err != nil {
			t.Fatal(err)
		}
	}
}

// params is the resourceVersion of c as a request between two seconds saw it: absent, or why it is not known.
func params(r *replay.Replayer, from, to float64) string {
	o := r.View(moment(from), moment(to)).Param(configMaps, "shop", "c")
	switch {
	case o.Level == replay.Missing:
		return string(o.Because)
	case o.Content == nil:
		return "absent"
	}
	for _, u := range o.Unknown {
		if u.String() == "metadata.resourceVersion" {
			return string(u.Because)
		}
	}
	rv, _ := o.Content["metadata"].(map[string]any)["resourceVersion"].(string)
	return rv
}

// TestWatched: a state counts from when it was surely there, and not before it was surely not.
func TestWatched(t *testing.T) {
	patch := func(rv int, at float64) func(testing.TB, *replay.Replayer) {
		return func(t testing.TB, r *replay.Replayer) { observed(r, write(t, "patch", "c", "u", rv, at)) }
	}
	other := func(rv int, at float64) func(testing.TB, *replay.Replayer) {
		return func(t testing.TB, r *replay.Replayer) {
			observed(r, event(t, fmt.Sprintf(`{verb: patch, requestURI: /api/v1/namespaces/shop/secrets/s, at: %v, code: 200, responseObject: {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop, uid: s, resourceVersion: "%d"}}}`, at, rv)))
		}
	}
	first, second := seen(t, 10, 1, 5, false), seen(t, 20, 10, 15, false)
	for _, tt := range []struct {
		name string
		seen []replay.Seen
		log  []func(testing.TB, *replay.Replayer)
		at   float64
		want string
	}{
		{"before it was written", []replay.Seen{first}, nil, 0.5, "NotWatched"},
		{"while it may have been", []replay.Seen{first}, nil, 3, "Changing"},
		{"afterwards", []replay.Seen{first}, nil, 6, "10"},
		{"before the next is written", []replay.Seen{first, second}, nil, 9, "10"},
		{"while the next may have been", []replay.Seen{first, second}, nil, 12, "Changing"},
		{"after the next", []replay.Seen{first, second}, nil, 16, "20"},
		{"told the other way round", []replay.Seen{second, first}, nil, 9, "10"},
		{"the log shows a greater resourceVersion", []replay.Seen{first, second}, []func(testing.TB, *replay.Replayer){other(21, 11)}, 12, "20"},
		{"of an object that is not kept, too", []replay.Seen{first, second}, []func(testing.TB, *replay.Replayer){other(20, 11)}, 12, "20"},
		{"the log shows a lesser one", []replay.Seen{first, second}, []func(testing.TB, *replay.Replayer){other(19, 11)}, 12, "Changing"},
		{"the log shows the write", []replay.Seen{first, second}, []func(testing.TB, *replay.Replayer){patch(20, 11)}, 12, "20"},
		{"the log shows a later write", []replay.Seen{first}, []func(testing.TB, *replay.Replayer){patch(30, 20)}, 25, "30"},
		{"the log shows a write in between", []replay.Seen{first, second}, []func(testing.TB, *replay.Replayer){patch(15, 8)}, 9, "15"},
		{"while it may have been deleted", []replay.Seen{first, seen(t, 30, 10, 20, true)}, nil, 12, "Changing"},
		{"deleted", []replay.Seen{first, seen(t, 30, 10, 20, true)}, nil, 25, "absent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, watchFirst := range []bool{true, false} {
				r := newReplayer(t, replay.Config{Minor: 37, Keep: only("/configmaps")}, []map[string]any{object(t, namespaceShop)})
				r.WatchedSince(configMaps.GroupResource(), moment(5))
				if watchFirst {
					tell(t, r, tt.seen...)
				}
				for _, log := range tt.log {
					log(t, r)
				}
				if !watchFirst {
					if strings.Contains(tt.name, "greater") || strings.Contains(tt.name, "not kept") {
						continue // The log goes on, so that another write would show it.
					}
					tell(t, r, tt.seen...)
				}
				if got := params(r, tt.at, tt.at+0.1); got != tt.want {
					t.Errorf("the watch first %v: %s, want %s", watchFirst, got, tt.want)
				}
			}
		})
	}
}

// TestWatchedDeletionInTheLogToo: one deletion, of which the log shows no resourceVersion, is one.
func TestWatchedDeletionInTheLogToo(t *testing.T) {
	for _, watchFirst := range []bool{true, false} {
		r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{object(t, namespaceShop)})
		r.WatchedSince(configMaps.GroupResource(), moment(5))
		tell(t, r, seen(t, 10, 1, 5, false))
		if watchFirst {
			tell(t, r, seen(t, 30, 1, 20, true))
		}
		observed(r, event(t, `{verb: delete, requestURI: /api/v1/namespaces/shop/configmaps/c, at: 12, code: 200, responseObject: {kind: Status, details: {uid: u}}}`))
		if !watchFirst {
			tell(t, r, seen(t, 30, 1, 20, true))
		}
		for at, want := range map[float64]string{11: "10", 13: "absent", 30: "absent"} {
			if got := params(r, at, at+0.1); got != want {
				t.Errorf("the watch first %v, at %v: %s, want %s", watchFirst, at, got, want)
			}
		}
	}
}

// TestWatchedAbsence: absence says something while all is told, and nothing else does.
func TestWatchedAbsence(t *testing.T) {
	r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{object(t, namespaceShop)})
	resource := configMaps.GroupResource()
	check := func(what string, at float64, want string) {
		t.Helper()
		if got := params(r, at, at+0.1); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("not watched", 1, "NoParams")
	r.WatchedSince(resource, moment(5))
	check("before", 4, "NotWatched")
	check("after", 6, "absent")
	r.Unwatched(resource, moment(10))
	r.Unwatched(resource, moment(12))
	check("before it was interrupted", 9, "absent")
	check("while it is interrupted", 11, "NotWatched")
	r.Rewatched(resource)
	check("all was told later", 11, "absent")
	r.Unwatched(resource, moment(20))
	r.WatchedSince(resource, moment(30))
	check("between two lists", 25, "NotWatched")
	check("after the second", 31, "absent")
}

// TestWatchedRBAC: a change that the log shows too is one, and changes of an object stay in their order.
func TestWatchedRBAC(t *testing.T) {
	role := func(rv int, name string) map[string]any {
		return object(t, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s, uid: u, resourceVersion: "%d"}}`, name, rv))
	}
	r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{role(1, "r")})
	logged := func(rv int, at float64) {
		observed(r, event(t, fmt.Sprintf(`{verb: update, requestURI: /apis/rbac.authorization.k8s.io/v1/clusterroles/r, at: %v, code: 200, responseObject: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r, uid: u, resourceVersion: "%d"}}}`, at, rv)))
	}
	watched := func(rv int, by float64) {
		tell(t, r, replay.Seen{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Content: role(rv, "r"), By: moment(by)})
	}
	watched(1, 3)  // as in the snapshot
	watched(2, 10) // before the log shows it
	watched(3, 11)
	logged(2, 5)
	logged(4, 7) // and never 3
	logged(7, 15)
	watched(6, 18) // and never in the log
	watched(4, 12) // after the log has shown it
	watched(5, 13)
	state, _ := r.View(moment(20), moment(21)).RBAC()
	var got []string
	for _, c := range r.View(moment(20), moment(21)).RBACChanges(state.Changes) {
		got = append(got, c.Content["metadata"].(map[string]any)["resourceVersion"].(string))
	}
	if strings.Join(got, " ") != "1 2 3 4 5 6 7" || state.Pending != 0 {
		t.Errorf("changes %v, %d pending", got, state.Pending)
	}
	if state, _ := r.View(moment(8), moment(9)).RBAC(); state.Changes != 4 || state.Pending != 2 {
		t.Errorf("%d changes and %d pending, want 4 and 2", state.Changes, state.Pending)
	}
}

func TestWatchedErrors(t *testing.T) {
	r := newReplayer(t, replay.Config{Minor: 37}, nil)
	if err := r.Watched(replay.Seen{APIVersion: "example.com/v1", Kind: "Limit"}); !errors.Is(err, replay.ErrUnknownKind) {
		t.Errorf("got %v", err)
	}
	if err := r.Watched(replay.Seen{APIVersion: "v1", Kind: "ConfigMap", Content: object(t, "{metadata: {name: c}}")}); err == nil {
		t.Error("a manifest was taken in")
	}
}

// TestWatchedModel writes an object at random and lets a watch and the log show some of it, in an order of their own:
// what is said to be known is what was.
func TestWatchedModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{object(t, namespaceShop)})
		r.WatchedSince(configMaps.GroupResource(), moment(0))
		n := rapid.IntRange(1, 6).Draw(rt, "writes")
		var at []float64
		var shows []func()
		for i := range n {
			at = append(at, float64(10*(i+1))+float64(rapid.IntRange(0, 9).Draw(rt, "after")))
			rv, when := 100+i, at[i]
			state := seen(t, rv, float64(int(when)), when+float64(rapid.IntRange(1, 40).Draw(rt, "seen after")), false)
			shows = append(shows, func() { tell(t, r, state) })
			if rapid.Bool().Draw(rt, "logged") {
				verb := "patch"
				if i == 0 {
					verb = "create"
				}
				shows = append(shows, func() { observed(r, write(t, verb, "c", "u", rv, when)) })
			}
		}
		for _, show := range rapid.Permutation(shows).Draw(rt, "order") {
			show()
		}
		for range 10 {
			when := float64(rapid.IntRange(0, 120).Draw(rt, "request")) + 0.5
			want := "absent"
			for i := range n {
				if at[i]+0.1 < when {
					want = fmt.Sprint(100 + i)
				}
			}
			if got := params(r, when, when+0.01); got != want && got != "Changing" && got != "NotWatched" && got != "WritesMissed" {
				rt.Fatalf("at %v: %s, and it was %s (writes at %v)", when, got, want, at)
			}
		}
	})
}
