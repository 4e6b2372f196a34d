package readiness

import (
	"slices"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// maxNames is how many system actors are named.
const maxNames = 10

type workload struct{ namespace, kind, name string }

// hits are those whose requests would be rejected.
type hits struct {
	workloads         map[workload]time.Time // the last failure
	fresh             map[workload]bool      // with a failure that does not repeat
	namespaces, users map[string]bool
}

// readHits reads whose requests would be rejected.
func (r *reading) readHits() {
	all := map[*sink.Readiness]*hits{}
	var w workload
	var username string
	var last time.Time
	var fresh int64
	r.pairs(hitSQL, []any{&w.namespace, &w.kind, &w.name, &username, &last, &fresh}, func(one *sink.Readiness) {
		h := all[one]
		if h == nil {
			h = &hits{workloads: map[workload]time.Time{}, fresh: map[workload]bool{}, namespaces: map[string]bool{}, users: map[string]bool{}}
			all[one] = h
		}
		if known, ok := h.workloads[w]; !ok || last.After(known) {
			h.workloads[w] = last
		}
		if fresh > 0 {
			h.fresh[w] = true
		}
		if w.namespace != "" {
			h.namespaces[w.namespace] = true
		}
		h.users[username] = true
	})
	for one, h := range all {
		h.addTo(one, r.now(one.Cluster))
	}
}

func (h *hits) addTo(one *sink.Readiness, now time.Time) {
	one.Workloads, one.Namespaces, one.Users = int64(len(h.workloads)), int64(len(h.namespaces)), int64(len(h.users))
	one.NewWorkloads = int64(len(h.fresh))
	for _, last := range h.workloads {
		if last.Before(now.Add(-recent)) {
			one.Healed++
		} else {
			one.FailingNow++
		}
	}
	for username := range h.users {
		if system(username) {
			one.SystemActorNames = append(one.SystemActorNames, username)
		}
	}
	one.SystemActors = int64(len(one.SystemActorNames))
	slices.Sort(one.SystemActorNames)
	one.SystemActorNames = slices.Clip(one.SystemActorNames[:min(maxNames, len(one.SystemActorNames))])
}

// system says whether a user is a part of Kubernetes: a component, a node, a service account of kube-system.
func system(username string) bool {
	account, isAccount := strings.CutPrefix(username, "system:serviceaccount:")
	if isAccount {
		return strings.HasPrefix(account, "kube-system:")
	}
	return strings.HasPrefix(username, "system:") && username != "system:anonymous"
}
