package readiness

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/daily"
)

// maxNames is how many system actors are named.
const maxNames = 10

// readUsers reads who made the requests that would be rejected.
func (r *reading) readUsers() {
	r.each(daily.Failures, r.stopping(), []string{"username"}, func(one *sink.Readiness, values []string, _ sink.Group) {
		one.Users++
		if system(values[0]) {
			one.SystemActors++
			one.SystemActorNames = append(one.SystemActorNames, values[0])
		}
	})
	for _, one := range r.found {
		slices.Sort(one.SystemActorNames)
		one.SystemActorNames = slices.Clip(one.SystemActorNames[:min(maxNames, len(one.SystemActorNames))])
	}
}

// readWorkloads reads whose requests would be rejected, and whether they still fail.
func (r *reading) readWorkloads() {
	if r.err != nil {
		return
	}
	r.err = daily.Workloads(r.ctx, r.db, r.stopping(), sink.Grouping{By: r.pairs()}, func(values []string, lasts iter.Seq2[time.Time, bool]) {
		one, _ := r.at(values)
		begin := r.now(one.Cluster).Add(-recent)
		for last, fresh := range lasts {
			one.Workloads++
			if fresh {
				one.NewWorkloads++
			}
			if last.Before(begin) {
				one.Healed++
			} else {
				one.FailingNow++
			}
		}
	})
}

// system says whether a user is a part of Kubernetes: a component, a node, a service account of kube-system.
func system(username string) bool {
	account, isAccount := strings.CutPrefix(username, "system:serviceaccount:")
	if isAccount {
		return strings.HasPrefix(account, "kube-system:")
	}
	return strings.HasPrefix(username, "system:") && username != "system:anonymous"
}
