package sinktest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vapshadow/vapshadow/sink"
)

// varied are failures and rollups that differ in all that is counted by.
func varied() *sink.Batch {
	b := Sample("audit/0", 0, 60)
	for i := range b.Failures {
		f := &b.Failures[i]
		f.Policy, f.Username, f.Name = fmt.Sprint("policy-", i%3), []string{"jane", "Jane", "über"}[i%3], fmt.Sprint("web-", i%7)
		f.StageTimestamp = f.StageTimestamp.Add(time.Duration(i) * 40 * time.Minute)
		if i%2 == 0 {
			f.OwnerKind, f.OwnerName = "", ""
		}
		f.Result, f.ExpressionIndex, f.BlocksAnyway = []string{"Fail", "Error", "Unknown"}[i%3], int32(i%4), i%4 == 0
		f.Ignored = i%2 == 0
		f.Team, f.Repeats = []string{"", "payments"}[i%2], i%4 < 2
		f.Unknown = [][]string{nil, {"object.spec"}, {"object.spec", "oldObject"}}[i%3]
		if i >= 50 { // a second failure of a request that has one
			f.Place, f.N = b.Failures[i-50].Place, 1
		}
	}
	for i := range b.Rollups {
		r := &b.Rollups[i]
		r.Policy, r.Count, r.BlocksAnyway = fmt.Sprint("policy-", i%3), int64(i%5), i%4 == 0
		r.Minute = r.Minute.Add(time.Duration(i) * 40 * time.Minute)
	}
	return b
}

func newestFirst(t *testing.T, open Open) {
	s := open(t)
	b := varied()
	commit(t, s, b)
	want := Expect(b).Failures
	slices.Reverse(want)
	if diff := gocmp.Diff(want, all(t, s.Failures(t.Context(), sink.Filter{Newest: true}))); diff != "" {
		t.Errorf("newest first (- expected, + found):\n%s", diff)
	}
	if diff := gocmp.Diff(want[10:15], all(t, s.Failures(t.Context(), sink.Filter{Newest: true, Limit: 5, Offset: 10}))); diff != "" {
		t.Errorf("the third page (- expected, + found):\n%s", diff)
	}
}

func countFailures(t *testing.T, open Open) {
	s := open(t)
	if got := all(t, s.CountFailures(t.Context(), sink.Filter{}, sink.Grouping{})); got != nil {
		t.Errorf("an empty store: %v", got)
	}
	b := varied()
	commit(t, s, b)
	fields := map[string]func(sink.Failure) string{
		"policy": func(f sink.Failure) string { return f.Policy }, "username": func(f sink.Failure) string { return f.Username },
		"expression_index":   func(f sink.Failure) string { return fmt.Sprint(f.ExpressionIndex) },
		"blocks_anyway":      func(f sink.Failure) string { return fmt.Sprint(f.BlocksAnyway) },
		"team":               func(f sink.Failure) string { return f.Team },
		"repeats":            func(f sink.Failure) string { return fmt.Sprint(f.Repeats) },
		"unknown_attributes": func(f sink.Failure) string { return strings.Join(f.Unknown, ", ") },
		"workload_kind":      func(f sink.Failure) string { return cmp.Or(f.OwnerKind, f.Kind) },
		"workload_name":      func(f sink.Failure) string { return cmp.Or(f.OwnerName, f.Name) },
	}
	place := func(f sink.Failure) string { return fmt.Sprint(f.Cluster, f.AuditID, f.Item) }
	every := func(sink.Failure) bool { return true }
	for _, test := range []struct {
		filter   sink.Filter
		keep     func(sink.Failure) bool
		grouping sink.Grouping
	}{
		{sink.Filter{}, every, sink.Grouping{}},
		{sink.Filter{}, every, sink.Grouping{By: []string{"policy"}}},
		{sink.Filter{}, every, sink.Grouping{By: []string{"username", "expression_index", "blocks_anyway"}}},
		{sink.Filter{}, every, sink.Grouping{By: []string{"workload_kind", "workload_name"}, Limit: 3}},
		{sink.Filter{}, every, sink.Grouping{By: []string{"policy"}, New: true}},
		{sink.Filter{}, every, sink.Grouping{By: []string{"unknown_attributes"}, Every: 6 * time.Hour}},
		{sink.Filter{Results: []string{"Fail"}}, func(f sink.Failure) bool { return f.Result == "Fail" }, sink.Grouping{Every: 24 * time.Hour}},
		{
			sink.Filter{WorkloadKind: "Scale", WorkloadName: "web-4"}, func(f sink.Failure) bool { return f.OwnerName == "" && f.Name == "web-4" },
			sink.Grouping{By: []string{"workload_name"}},
		},
		{sink.Filter{Username: "über"}, func(f sink.Failure) bool { return f.Username == "über" }, sink.Grouping{By: []string{"username"}}},
		{sink.Filter{Name: "web-1"}, func(f sink.Failure) bool { return f.Name == "web-1" }, sink.Grouping{By: []string{"policy"}}},
		{
			sink.Filter{Stopping: true}, func(f sink.Failure) bool { return f.Result == "Fail" || f.Result == "Error" && !f.Ignored },
			sink.Grouping{By: []string{"username"}},
		},
		{sink.Filter{New: true}, func(f sink.Failure) bool { return !f.Repeats }, sink.Grouping{By: []string{"team", "repeats"}}},
		{sink.Filter{Team: "payments"}, func(f sink.Failure) bool { return f.Team == "payments" }, sink.Grouping{By: []string{"repeats"}}},
		{sink.Filter{Because: "other"}, func(sink.Failure) bool { return false }, sink.Grouping{By: []string{"policy"}}},
	} {
		groups := grouper{grouping: test.grouping, requests: map[*sink.Group]map[string]bool{}}
		for _, f := range Expect(b).Failures {
			if test.keep(f) {
				var values []string
				for _, name := range test.grouping.By {
					values = append(values, fields[name](f))
				}
				groups.add(values, f.StageTimestamp, 1, place(f), f.AuditID, f.Repeats)
			}
		}
		if diff := gocmp.Diff(groups.ordered(), all(t, s.CountFailures(t.Context(), test.filter, test.grouping)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v of %+v (- expected, + found):\n%s", test.grouping, test.filter, diff)
		}
	}
	for _, err := range s.CountFailures(t.Context(), sink.Filter{}, sink.Grouping{By: []string{"1; DROP TABLE failures"}}) {
		if err == nil {
			t.Error("what is no column is counted by")
		}
	}
}

func countRollups(t *testing.T, open Open) {
	s := open(t)
	b := varied()
	commit(t, s, b)
	for _, grouping := range []sink.Grouping{{}, {By: []string{"policy", "result", "blocks_anyway"}}, {Every: time.Hour, By: []string{"result"}}} {
		groups := grouper{grouping: grouping, requests: map[*sink.Group]map[string]bool{}}
		for _, r := range Expect(b).Rollups {
			values := []string{r.Policy, r.Result, fmt.Sprint(r.BlocksAnyway)}
			if len(grouping.By) == 1 {
				values = values[1:2]
			}
			groups.add(values[:len(grouping.By)], r.Minute, r.Count, "", "", false)
		}
		if diff := gocmp.Diff(groups.ordered(), all(t, s.CountRollups(t.Context(), sink.Filter{}, grouping)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v (- expected, + found):\n%s", grouping, diff)
		}
	}
}

// grouper does in memory what a store is to do.
type grouper struct {
	grouping sink.Grouping
	groups   []*sink.Group
	requests map[*sink.Group]map[string]bool // with what is new among them
}

func (g *grouper) add(values []string, at time.Time, n int64, request, sample string, repeats bool) {
	var span time.Time
	if g.grouping.Every > 0 {
		span = at.Truncate(g.grouping.Every)
	}
	i := slices.IndexFunc(g.groups, func(o *sink.Group) bool { return slices.Equal(o.Values, values) && o.Span.Equal(span) })
	if i < 0 {
		i = len(g.groups)
		g.groups = append(g.groups, &sink.Group{Values: values, Span: span, First: at, Last: at, Sample: sample})
		g.requests[g.groups[i]] = map[string]bool{}
	}
	group := g.groups[i]
	group.Count += n
	group.Sample = min(group.Sample, sample)
	if request != "" {
		g.requests[group][request] = g.requests[group][request] || !repeats
	}
	if at.Before(group.First) {
		group.First = at
	}
	if at.After(group.Last) {
		group.Last = at
	}
}

func (g *grouper) ordered() []sink.Group {
	var out []sink.Group
	for _, group := range g.groups {
		group.Requests = int64(len(g.requests[group]))
		for _, fresh := range g.requests[group] {
			if fresh && g.grouping.New {
				group.New++
			}
		}
		out = append(out, *group)
	}
	slices.SortFunc(out, func(a, b sink.Group) int {
		return cmp.Or(a.Span.Compare(b.Span), -cmp.Compare(a.Requests, b.Requests), -cmp.Compare(a.Count, b.Count), slices.Compare(a.Values, b.Values))
	})
	if n := g.grouping.Limit; n > 0 && len(out) > n {
		out = out[:n]
	}
	return out
}
