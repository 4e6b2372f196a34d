package sinktest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/daily"
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
		kept := Tables{Failures: slices.DeleteFunc(Expect(b).Failures, func(f sink.Failure) bool { return !test.keep(f) })}
		want := all(t, counted{kept}.Count(t.Context(), daily.Failures, sink.Filter{}, test.grouping))
		if diff := gocmp.Diff(want, all(t, s.CountFailures(t.Context(), test.filter, test.grouping)), cmpopts.EquateEmpty()); diff != "" {
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
		want := all(t, counted{Expect(b)}.Count(t.Context(), daily.Rollups, sink.Filter{}, grouping))
		if diff := gocmp.Diff(want, all(t, s.CountRollups(t.Context(), sink.Filter{}, grouping)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v (- expected, + found):\n%s", grouping, diff)
		}
	}
}
