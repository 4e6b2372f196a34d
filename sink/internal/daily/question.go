package daily

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// question is something that is asked of each day.
type question struct {
	// name is stored.
	name   string
	kind   Kind
	filter sink.Filter
	by     []string
	// hourly: the hours of the day are counted apart.
	hourly bool
	// scoped: the answers are kept apart by the first column, so that those of one value of it can be read alone.
	scoped bool
	// workloads: whose requests these are.
	workloads bool
}

// sealed is the question whose answer says that a day is sealed. Its name follows from the list below: where another list
// was asked, no day is sealed.
var sealed = "sealed " + digest(questions)

func digest(list []question) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", list))
	return hex.EncodeToString(sum[:8])
}

var (
	stopping = sink.Filter{Stopping: true}
	unknown  = sink.Filter{Results: []string{"Unknown"}}
)

// questions are those of the pages and of the readiness. They are few, since each costs time when a day is sealed: a
// question about one namespace, workload or user is answered from its rows, for which there is an index.
var questions = []question{
	{name: "matched", kind: Rollups, by: []string{"cluster", "policy", "binding", "policy_hash", "binding_hash", "result", "evidence", "because"}},
	{name: "results of namespaces", kind: Rollups, by: []string{"cluster", "namespace", "team", "result"}},

	{name: "stopped", kind: Failures, filter: stopping, by: []string{"cluster", "policy", "binding"}},
	{name: "stopped workloads", kind: Failures, filter: stopping, by: []string{"policy", "cluster", "binding"}, workloads: true, scoped: true},
	{name: "stopped in namespaces", kind: Failures, filter: stopping, by: []string{"cluster", "policy", "binding", "namespace"}},
	{name: "stopped users", kind: Failures, filter: stopping, by: []string{"cluster", "policy", "binding", "username"}},
	{name: "blocked", kind: Failures, by: []string{"cluster", "policy", "binding", "blocks_anyway"}},
	{name: "whole", kind: Failures, by: []string{"cluster", "policy", "binding", "result", "expression_index"}},

	{name: "namespaces", kind: Failures, filter: stopping, by: []string{"cluster", "namespace"}},
	{name: "namespaces' workloads", kind: Failures, filter: stopping, by: []string{"cluster", "namespace"}, workloads: true},
	{name: "users", kind: Failures, filter: stopping, by: []string{"cluster", "username"}},
	{name: "trend", kind: Failures, by: []string{"cluster", "result"}, hourly: true},
	{name: "unknown reasons", kind: Failures, filter: unknown, by: []string{"cluster", "because", "api_group", "resource", "sub_resource"}},
	{name: "unknown attributes", kind: Failures, filter: unknown, by: []string{"policy", "cluster", "unknown_attributes", "because", "expression_index"}},
	{name: "unknown namespaces", kind: Failures, filter: unknown, by: []string{"cluster", "namespace"}},
	{name: "unknown trend", kind: Failures, filter: unknown, by: []string{"cluster", "result"}, hourly: true},

	{name: "policy's workloads", kind: Failures, filter: stopping, by: []string{"policy", "cluster", "namespace", "workload_kind", "workload_name"}, scoped: true},
	{name: "policy's namespaces", kind: Failures, filter: stopping, by: []string{"policy", "cluster", "namespace"}, scoped: true},
	{name: "policy's users", kind: Failures, filter: stopping, by: []string{"policy", "cluster", "username"}, scoped: true},
	{name: "policy's messages", kind: Failures, filter: stopping, by: []string{"policy", "cluster", "expression_index", "result", "message"}, scoped: true},
	{name: "policy's unknown reasons", kind: Failures, filter: unknown, by: []string{"policy", "cluster", "because", "api_group", "resource", "sub_resource"}, scoped: true},
	{name: "policy's trend", kind: Failures, by: []string{"policy", "cluster", "result"}, scoped: true, hourly: true},
}

// find finds the question whose answers add up to what is asked, if there is one.
func find(kind Kind, f sink.Filter, g sink.Grouping) (question, bool) {
	fixed, rest := split(f)
	asked := slices.Clone(g.By)
	for _, c := range fixed {
		asked = append(asked, c.name)
	}
	for _, q := range questions {
		if q.kind != kind || q.workloads != g.Workloads || !alike(q.filter, rest) || !q.serves(g.Every) {
			continue
		}
		if q.covers(asked) {
			return q, true
		}
	}
	return question{}, false
}

// covers says whether groups by the columns of the question can be merged into groups by those that are asked for.
func (q question) covers(asked []string) bool {
	for _, name := range asked {
		if !slices.Contains(q.by, name) {
			return false
		}
	}
	// Counts of rollups add up. A request may be in several groups of failures; but it is in one cluster.
	for _, name := range q.by {
		if q.kind == Failures && name != "cluster" && !slices.Contains(asked, name) {
			return false
		}
	}
	return true
}

// serves says whether spans of the question add up to spans of a width; 0 is all time.
func (q question) serves(width time.Duration) bool {
	if q.hourly {
		return width%time.Hour == 0
	}
	return width%day == 0
}

// column is a column that a filter asks a value of.
type column struct{ name, value string }

// split takes the columns out of a filter that a question may be grouped by, and the period.
func split(f sink.Filter) (fixed []column, rest sink.Filter) {
	for _, c := range []struct {
		name  string
		value *string
	}{{"cluster", &f.Cluster}, {"policy", &f.Policy}, {"binding", &f.Binding}, {"namespace", &f.Namespace}, {"team", &f.Team}} {
		if *c.value != "" {
			fixed = append(fixed, column{c.name, *c.value})
			*c.value = ""
		}
	}
	f.Since, f.Until = time.Time{}, time.Time{}
	return fixed, f
}

// alike compares what is left of two filters.
func alike(a, b sink.Filter) bool { return reflect.DeepEqual(a, b) }
