// Package readiness asks a database how ready each binding is to be enforced. Both stores ask with the same queries.
package readiness

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/daily"
)

// Snapshot is one state of a database.
type Snapshot interface {
	daily.Snapshot
	// Policies are the texts of policies and bindings.
	Policies(context.Context, sink.Filter) iter.Seq2[sink.PolicyText, error]
}

// recent is how long before now a failure still counts as one of now.
const recent = 24 * time.Hour

type name struct{ cluster, policy, binding, namespace string }

type reading struct {
	ctx      context.Context
	db       Snapshot
	filter   sink.Filter
	criteria sink.Criteria
	// split: one Readiness for each namespace.
	split bool
	found map[name]*sink.Readiness
	ends  map[string]time.Time   // the end of the data, by cluster
	days  map[string][]time.Time // the days with data, by cluster
	err   error
}

// Read implements sink.Reader's Readiness.
func Read(ctx context.Context, db Snapshot, f sink.Filter, c sink.Criteria) ([]sink.Readiness, error) {
	return read(&reading{ctx: ctx, db: db, filter: narrowed(f), criteria: c})
}

// ReadByNamespace implements sink.Reader's ReadinessByNamespace.
func ReadByNamespace(ctx context.Context, db Snapshot, f sink.Filter, c sink.Criteria) ([]sink.Readiness, error) {
	return read(&reading{ctx: ctx, db: db, filter: narrowed(f), criteria: c, split: true})
}

// narrowed is what counts of a filter. Rollups know minutes only; with the failures of part of a minute the counts would
// not agree.
func narrowed(f sink.Filter) sink.Filter {
	return sink.Filter{
		Cluster: f.Cluster, Policy: f.Policy, Binding: f.Binding, Namespace: f.Namespace, Team: f.Team,
		Since: f.Since.Truncate(time.Minute), Until: f.Until.Truncate(time.Minute),
	}
}

func read(r *reading) ([]sink.Readiness, error) {
	r.found, r.ends, r.days = map[name]*sink.Readiness{}, map[string]time.Time{}, map[string][]time.Time{}
	r.readDays()
	r.readCounts()
	r.readRequests()
	r.readUsers()
	r.readWorkloads()
	if !r.split {
		r.readSilent()
	}
	if r.err != nil {
		return nil, fmt.Errorf("reading the readiness: %w", r.err)
	}
	out := make([]sink.Readiness, 0, len(r.found))
	for _, one := range r.found {
		one.Now = r.now(one.Cluster)
		one.SilentDays = r.silentDays(one)
		one.Judge(r.criteria)
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b sink.Readiness) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Binding, b.Binding),
			cmp.Compare(a.Namespace, b.Namespace))
	})
	return out, nil
}

// pairs are the columns that name a pair.
func (r *reading) pairs(more ...string) []string {
	by := []string{"cluster", "policy", "binding"}
	if r.split {
		by = append(by, "namespace")
	}
	return append(by, more...)
}

// at is the pair of a group by pairs, and the values behind it.
func (r *reading) at(values []string) (one *sink.Readiness, more []string) {
	n := name{cluster: values[0], policy: values[1], binding: values[2]}
	more = values[3:]
	if r.split {
		n.namespace, more = more[0], more[1:]
	}
	return r.of(n), more
}

// each counts rows by pairs and more columns.
func (r *reading) each(kind daily.Kind, f sink.Filter, more []string, each func(one *sink.Readiness, values []string, g sink.Group)) {
	r.eachNew(kind, f, more, false, each)
}

// eachNew does so, and says what is new of it where that is asked for.
func (r *reading) eachNew(kind daily.Kind, f sink.Filter, more []string, fresh bool, each func(one *sink.Readiness, values []string, g sink.Group)) {
	if r.err != nil {
		return
	}
	for g, err := range daily.Count(r.ctx, r.db, kind, f, sink.Grouping{By: r.pairs(more...), New: fresh}) {
		if err != nil {
			r.err = err
			return
		}
		one, values := r.at(g.Values)
		each(one, values, g)
	}
}

// stopping are the failures that have the request rejected, were the binding set to [Deny].
func (r *reading) stopping() sink.Filter {
	f := r.filter
	f.Stopping = true
	return f
}

func (r *reading) of(n name) *sink.Readiness {
	if r.found[n] == nil {
		r.found[n] = &sink.Readiness{Cluster: n.cluster, Policy: n.policy, Binding: n.binding, Namespace: n.namespace}
	}
	return r.found[n]
}

func (r *reading) now(cluster string) time.Time {
	if !r.criteria.Now.IsZero() {
		return r.criteria.Now.UTC()
	}
	return r.ends[cluster]
}

// readDays reads on which days there is data of each cluster, of whatever policy, and when it ends.
func (r *reading) readDays() {
	f := sink.Filter{Cluster: r.filter.Cluster, Since: r.filter.Since, Until: r.filter.Until}
	for g, err := range daily.Count(r.ctx, r.db, daily.Rollups, f, sink.Grouping{By: []string{"cluster"}, Every: 24 * time.Hour}) {
		if err != nil {
			r.err = err
			return
		}
		cluster, end := g.Values[0], g.Last.Add(time.Minute)
		r.days[cluster] = append(r.days[cluster], g.Span)
		if end.After(r.ends[cluster]) {
			r.ends[cluster] = end
		}
	}
}

// silentDays counts the days between the first and the last match of which there is no data.
func (r *reading) silentDays(of *sink.Readiness) int64 {
	if of.Matched == 0 {
		return 0
	}
	first, last := of.First.Truncate(24*time.Hour), of.Last.Truncate(24*time.Hour)
	silent := int64(last.Sub(first)/(24*time.Hour)) + 1
	for _, day := range r.days[of.Cluster] {
		if !day.Before(first) && !day.After(last) {
			silent--
		}
	}
	return silent
}

// readRequests counts the requests that failed.
func (r *reading) readRequests() {
	r.eachNew(daily.Failures, r.stopping(), nil, true, func(one *sink.Readiness, _ []string, g sink.Group) {
		one.WouldFail, one.Repeats = g.Requests, g.Requests-g.New
	})
	r.readNamespaces()
	r.each(daily.Failures, r.filter, []string{"blocks_anyway"}, func(one *sink.Readiness, values []string, g sink.Group) {
		if values[0] == "true" {
			one.BlocksAnyway = g.Requests
		}
	})
	r.each(daily.Failures, r.filter, []string{"result", "expression_index"}, func(one *sink.Readiness, values []string, g sink.Group) {
		// The evaluation as a whole could not be made, whether failurePolicy lets that through or not.
		if values[0] == "Error" && values[1] == "-1" {
			one.ConfigErrors = g.Requests
		}
	})
}

func (r *reading) readNamespaces() {
	var more []string
	if !r.split {
		more = []string{"namespace"}
	}
	r.each(daily.Failures, r.stopping(), more, func(one *sink.Readiness, values []string, g sink.Group) {
		namespace := one.Namespace
		if !r.split {
			namespace = values[0]
		}
		if namespace == "" {
			one.ClusterScoped = g.Requests
		} else {
			one.Namespaces++
		}
	})
}

// readSilent adds the policies and bindings of which nothing matched: they prove nothing, and are to be seen.
func (r *reading) readSilent() {
	if r.err != nil {
		return
	}
	var policies []name
	for t, err := range r.db.Policies(r.ctx, sink.Filter{Cluster: r.filter.Cluster}) {
		if err != nil {
			r.err = err
			return
		}
		switch t.Kind {
		case "ValidatingAdmissionPolicy":
			policies = append(policies, name{cluster: t.Cluster, policy: t.Name})
		case "ValidatingAdmissionPolicyBinding":
			var binding struct {
				Spec struct{ PolicyName string }
			}
			if json.Unmarshal([]byte(t.Text), &binding) == nil && binding.Spec.PolicyName != "" {
				r.add(name{cluster: t.Cluster, policy: binding.Spec.PolicyName, binding: t.Name})
			}
		}
	}
	bound := map[name]bool{}
	for n := range r.found {
		bound[name{cluster: n.cluster, policy: n.policy}] = true
	}
	for _, p := range policies {
		if !bound[p] && r.filter.Binding == "" {
			r.add(p)
		}
	}
}

// add adds a pair if the filter lets it through.
func (r *reading) add(n name) {
	if (r.filter.Policy == "" || r.filter.Policy == n.policy) && (r.filter.Binding == "" || r.filter.Binding == n.binding) {
		r.of(n)
	}
}
