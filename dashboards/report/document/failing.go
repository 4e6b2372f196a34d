package document

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// Bounds of what a document lists for each binding, and of the different names that are told apart to find them.
const (
	maxFailing  = 1000
	maxListed   = 20
	maxAuditIDs = 3
	maxNames    = 20_000
)

// recent is how long before now a failure still counts as one of now, as in docs/readiness.md.
const recent = 24 * time.Hour

type pairName struct{ cluster, policy, binding string }

func pairOf(cluster, policy, binding string) pairName { return pairName{cluster, policy, binding} }

type workloadName struct{ namespace, kind, name string }

type messageName struct{ message, result string }

// tally counts requests. Rows of one request follow each other, so that the last one tells whether it is counted.
type tally struct {
	requests int64
	// fresh are the requests that do not only repeat; lastFresh says whether the last one is.
	fresh     int64
	last      sink.Place
	lastFresh bool
	auditIDs  []string
	message   messageName
	team      string // of the last request
}

// tallies tells what would fail of one binding.
type tallies struct {
	workloads  map[workloadName]*tally
	messages   map[messageName]*tally
	namespaces map[string]*tally
	users      map[string]*tally
}

// gather reads the rows of all requests that would be rejected, were the bindings set to [Deny].
func gather(ctx context.Context, r sink.Reader, f sink.Filter) (map[pairName]*tallies, error) {
	f.Since, f.Until = f.Since.Truncate(time.Minute), f.Until.Truncate(time.Minute) // as the readiness has it
	f.Results = []string{"Fail", "Error"}
	out := map[pairName]*tallies{}
	for row, err := range r.Failures(ctx, f) {
		if err != nil {
			return nil, err
		}
		if row.Result == "Error" && row.Ignored {
			continue
		}
		name := pairOf(row.Cluster, row.Policy, row.Binding)
		if out[name] == nil {
			out[name] = &tallies{
				workloads: map[workloadName]*tally{}, messages: map[messageName]*tally{},
				namespaces: map[string]*tally{}, users: map[string]*tally{},
			}
		}
		out[name].add(&row)
	}
	return out, nil
}

func (t *tallies) add(row *sink.Failure) {
	w := workloadName{row.Namespace, row.OwnerKind, row.OwnerName}
	if row.OwnerName == "" {
		w.kind, w.name = row.Kind, row.Name
	}
	count(t.workloads, w, row)
	count(t.messages, messageName{row.Message, row.Result}, row)
	if row.Namespace != "" {
		count(t.namespaces, row.Namespace, row)
	}
	count(t.users, row.Username, row)
}

func count[K comparable](of map[K]*tally, name K, row *sink.Failure) {
	one := of[name]
	if one == nil {
		if len(of) == maxNames {
			return
		}
		one = &tally{message: messageName{row.Message, row.Result}}
		of[name] = one
	}
	one.team = row.Team
	again := one.requests > 0 && one.last == row.Place
	counted := again && one.lastFresh
	if !row.Repeats && !counted {
		one.fresh++
	}
	one.lastFresh = !row.Repeats || counted
	if again {
		return
	}
	one.requests++
	one.last = row.Place
	if len(one.auditIDs) < maxAuditIDs && !slices.Contains(one.auditIDs, row.AuditID) {
		one.auditIDs = append(one.auditIDs, row.AuditID)
	}
}

// addTo adds the lists to a binding. There may be nothing to add.
func (t *tallies) addTo(b *Binding) {
	if t == nil {
		return
	}
	for name, of := range t.workloads {
		b.Failing = append(b.Failing, Workload{
			Namespace: name.namespace, Team: of.team, Kind: name.kind, Name: name.name, Requests: of.requests, Repeats: of.requests - of.fresh, Last: of.last.StageTimestamp,
			Now:    !of.last.StageTimestamp.Before(b.Now.Add(-recent)),
			Result: of.message.result, Message: of.message.message, AuditIDs: of.auditIDs,
		})
	}
	slices.SortFunc(b.Failing, func(x, y Workload) int {
		return cmp.Or(-cmp.Compare(x.Requests, y.Requests), cmp.Compare(x.Namespace, y.Namespace),
			cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name))
	})
	for name, of := range t.messages {
		b.Messages = append(b.Messages, Message{Message: name.message, Result: name.result, Requests: of.requests, AuditIDs: of.auditIDs})
	}
	b.Messages = first(maxListed, b.Messages, func(x, y Message) int {
		return cmp.Or(-cmp.Compare(x.Requests, y.Requests), cmp.Compare(x.Message, y.Message), cmp.Compare(x.Result, y.Result))
	})
	b.TopNamespaces, b.TopUsers = counts(t.namespaces), counts(t.users)
}

// cut keeps the first of the failing workloads.
func (b *Binding) cut() { b.Failing = slices.Clip(b.Failing[:min(maxFailing, len(b.Failing))]) }

func counts(of map[string]*tally) (out []Count) {
	for name, t := range of {
		out = append(out, Count{Name: name, Requests: t.requests})
	}
	return first(maxListed, out, func(x, y Count) int {
		return cmp.Or(-cmp.Compare(x.Requests, y.Requests), cmp.Compare(x.Name, y.Name))
	})
}

func first[T any](n int, list []T, by func(x, y T) int) []T {
	slices.SortFunc(list, by)
	return slices.Clip(list[:min(n, len(list))])
}
