// Package readiness asks a database how ready each binding is to be enforced. Both stores ask with the same queries.
package readiness

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// Querier asks a database. All queries of one Read see the same state of it.
type Querier interface {
	// Query scans each row into the fields, which point to texts, numbers and times, and calls each.
	Query(ctx context.Context, sql string, args []any, fields []any, each func()) error
	// View is how the database calls a view, Placeholder how a query names its nth argument, from 1.
	View(name string) string
	Placeholder(n int) string
	// Day is an expression: the beginning of the day (UTC) of a column.
	Day(column string) string
}

// recent is how long before now a failure still counts as one of now.
const recent = 24 * time.Hour

type name struct{ cluster, policy, binding, namespace string }

type reading struct {
	ctx      context.Context
	db       Querier
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
func Read(ctx context.Context, db Querier, f sink.Filter, c sink.Criteria) ([]sink.Readiness, error) {
	return read(&reading{ctx: ctx, db: db, filter: f, criteria: c})
}

// ReadByNamespace implements sink.Reader's ReadinessByNamespace.
func ReadByNamespace(ctx context.Context, db Querier, f sink.Filter, c sink.Criteria) ([]sink.Readiness, error) {
	return read(&reading{ctx: ctx, db: db, filter: f, criteria: c, split: true})
}

func read(r *reading) ([]sink.Readiness, error) {
	r.found, r.ends, r.days = map[name]*sink.Readiness{}, map[string]time.Time{}, map[string][]time.Time{}
	r.readEnds()
	r.readDays()
	r.readCounts()
	r.readRequests()
	r.readHits()
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

func (r *reading) query(sql string, fields []any, each func()) {
	if r.err != nil {
		return
	}
	sql, args := build(sql, r.db, r.filter, r.split)
	r.err = r.db.Query(r.ctx, sql, args, fields, each)
}

// pairs asks a query whose first columns name a pair.
func (r *reading) pairs(sql string, fields []any, each func(*sink.Readiness)) {
	var n name
	r.query(sql, append([]any{&n.cluster, &n.policy, &n.binding, &n.namespace}, fields...), func() { each(r.of(n)) })
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

func (r *reading) readEnds() {
	var cluster string
	var last time.Time
	r.query(endsSQL, []any{&cluster, &last}, func() { r.ends[cluster] = last.UTC().Add(time.Minute) })
}

func (r *reading) readDays() {
	var cluster string
	var day time.Time
	r.query(daysSQL, []any{&cluster, &day}, func() { r.days[cluster] = append(r.days[cluster], day.UTC()) })
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
	var row sink.Readiness
	var fresh int64
	r.pairs(requestsSQL, []any{&row.WouldFail, &row.ClusterScoped, &fresh, &row.BlocksAnyway, &row.ConfigErrors}, func(one *sink.Readiness) {
		one.WouldFail, one.ClusterScoped, one.BlocksAnyway, one.ConfigErrors = row.WouldFail, row.ClusterScoped, row.BlocksAnyway, row.ConfigErrors
		one.Repeats = row.WouldFail - fresh
	})
}

// readSilent adds the policies and bindings of which nothing matched: they prove nothing, and are to be seen.
func (r *reading) readSilent() {
	var cluster, kind, object, text string
	var policies []name
	r.query(policiesSQL, []any{&cluster, &kind, &object, &text}, func() {
		switch kind {
		case "ValidatingAdmissionPolicy":
			policies = append(policies, name{cluster: cluster, policy: object})
		case "ValidatingAdmissionPolicyBinding":
			var binding struct {
				Spec struct{ PolicyName string }
			}
			if json.Unmarshal([]byte(text), &binding) == nil && binding.Spec.PolicyName != "" {
				r.add(name{cluster: cluster, policy: binding.Spec.PolicyName, binding: object})
			}
		}
	})
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
