package sinktest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/daily"
	"github.com/vapshadow/vapshadow/sink/internal/readiness"
)

// sealedDaysChangeNothing: whatever is sealed, and whatever is written to days that are, what is counted is what a list
// in memory comes to.
func sealedDaysChangeNothing(t *testing.T, open Open) {
	random := rand.New(rand.NewPCG(7, 7))
	s := []sink.Database{open(t), open(t)}
	written := &sink.Batch{}
	begin := noon.Truncate(day)
	const days = 6
	for round := range int64(6) {
		b := hostileCounts(random, begin, days)
		if round > 0 { // what was delivered again
			b.Failures = append(b.Failures, written.Failures[random.IntN(len(written.Failures))])
		}
		b.Moves = []sink.Move{move("audit/0", round, round+1)}
		commit(t, s[round%2], b)
		written = join(written, b)
		if round%2 == 1 {
			before := begin.AddDate(0, 0, random.IntN(days+2))
			if round == 3 {
				before = begin.AddDate(0, 0, days) // so that Maintain has days to unseal
			}
			if err := s[random.IntN(2)].Seal(t.Context(), before); err != nil {
				t.Fatal(err)
			}
		}
		if round == 3 {
			if err := s[0].Maintain(t.Context(), day, begin.AddDate(0, 0, 3)); err != nil {
				t.Fatal(err)
			}
			written = since(written, begin.AddDate(0, 0, 2))
		}
		compareCounts(t, s[1], counted{Expect(written)}, begin, random)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

// since are the rows from a time on, of those that are split into days.
func since(b *sink.Batch, at time.Time) *sink.Batch {
	out := &sink.Batch{Policies: b.Policies}
	for _, f := range b.Failures {
		if !f.StageTimestamp.Before(at) {
			out.Failures = append(out.Failures, f)
		}
	}
	for _, r := range b.Rollups {
		if !r.Minute.Before(at) {
			out.Rollups = append(out.Rollups, r)
		}
	}
	return out
}

// hostileCounts are rows of which many have something in common, in names that sort and join badly.
func hostileCounts(random *rand.Rand, begin time.Time, days int) *sink.Batch {
	b := &sink.Batch{}
	few := func(names ...string) string { return names[random.IntN(len(names))] }
	at := func() time.Time {
		if random.IntN(40) == 0 {
			return time.Date([]int{1, 1969, 2013, 2100, 9999}[random.IntN(5)], 12, 31, 23, 59, 0, 0, time.UTC)
		}
		// Some at the first and the last moment of a day.
		return begin.AddDate(0, 0, random.IntN(days)).Add([]time.Duration{0, day - time.Microsecond, time.Hour, 90 * time.Minute}[random.IntN(4)])
	}
	for i := range 120 {
		f := failure(sink.Place{Cluster: few("", "prod", "prod 1"), AuditID: few("a", "1 a", " ", "ü"), Item: int32(random.IntN(2)), StageTimestamp: at()})
		f.Policy, f.Binding, f.Namespace = few("p", "q", ""), few("b", ""), few("", "shop", "Shop", "shop ", "über")
		f.Username = few("jane", "system:node:a", "system:serviceaccount:kube-system:x", "")
		f.Name, f.OwnerName = few("web", "web-1"), few("", "web", "Web")
		f.Result, f.Ignored, f.ExpressionIndex = few("Fail", "Error", "Unknown"), random.IntN(2) == 0, int32(random.IntN(3)-1)
		f.Message, f.Because = few("no\nway", "", `"`), few("", "NoHistory")
		f.Unknown = [][]string{nil, {"object"}, {"object", "oldObject"}}[random.IntN(3)]
		f.Team, f.Repeats = few("", "payments"), random.IntN(2) == 0
		f.BlocksAnyway, f.N = random.IntN(3) == 0, int32(i%2)
		b.Failures = append(b.Failures, f)
		r := rollup(sink.Place{Cluster: f.Cluster, StageTimestamp: at()}, few("Pass", "Fail", "Unknown", "Skipped"))
		r.Policy, r.Binding, r.Namespace, r.PolicyHash, r.Because = f.Policy, f.Binding, f.Namespace, few("", "h1", "h2"), f.Because
		r.Evidence, r.Count, r.Team = few("Exact", "Presumed", "Missing"), int64(random.IntN(4)), f.Team
		b.Rollups = append(b.Rollups, r)
	}
	b.Policies = []sink.PolicyText{{Cluster: "prod", Kind: "ValidatingAdmissionPolicy", Name: "silent", Hash: "h", Text: "{}"}}
	return b
}

// compareCounts asks all that the pages ask, and more, of periods that cut days and of those that do not.
func compareCounts(t *testing.T, s sink.Database, model counted, begin time.Time, random *rand.Rand) {
	t.Helper()
	ctx := t.Context()
	by := func(names ...string) []string { return names }
	unknown := []string{"Unknown"}
	for _, period := range []sink.Filter{
		{}, {Since: begin}, {Since: begin.Add(day), Until: begin.Add(4 * day)}, {Until: begin.Add(3*day + 90*time.Minute)},
		{Since: begin.Add(time.Duration(random.Int64N(int64(6 * day)))), Until: begin.Add(5*day + time.Minute)},
	} {
		names := []sink.Filter{{}, {Cluster: "prod"}, {Policy: "p"}, {Cluster: "prod 1", Policy: "q"}, {Namespace: "shop"}, {Policy: "p", Binding: "b"}, {Because: "NoHistory"}}
		for _, name := range some(random, 2, names) {
			f := name
			f.Since, f.Until = period.Since, period.Until
			for _, g := range []sink.Grouping{
				{By: by("cluster", "policy", "binding", "policy_hash", "result")}, {By: by("cluster", "namespace", "result")}, {By: by("cluster"), Every: day},
				{By: by("policy_hash", "binding", "binding_hash", "result"), Limit: 2}, {By: by("result"), Every: time.Hour},
			} {
				compareGroups(t, f, g, model.Count(ctx, daily.Rollups, f, g), s.CountRollups(ctx, f, g))
			}
			for _, class := range some(random, 2, []sink.Filter{{}, {Stopping: true}, {Results: unknown}, {Results: []string{"Fail", "Error"}}}) {
				f.Stopping, f.Results = class.Stopping, class.Results
				for _, g := range []sink.Grouping{
					{By: by("cluster", "namespace"), New: true}, {By: by("username"), Limit: 2}, {By: by("result"), Every: 6 * time.Hour}, {By: by("result"), Every: 7 * day},
					{By: by("result")}, {By: by("because", "api_group", "resource", "sub_resource")}, {By: by("cluster", "namespace", "workload_kind", "workload_name"), Limit: 3},
					{By: by("unknown_attributes", "because", "policy", "expression_index")}, {By: by("policy", "expression_index", "result", "message")},
					{By: by("cluster", "namespace"), Workloads: true}, {By: by("cluster", "policy", "binding"), Workloads: true}, {By: by("result"), Every: time.Minute}, {},
				} {
					compareGroups(t, f, g, model.Count(ctx, daily.Failures, f, g), s.CountFailures(ctx, f, g))
				}
			}
		}
		for _, f := range some(random, 2, []sink.Filter{{}, {Cluster: "prod"}, {Policy: "p"}, {Namespace: "shop"}, {Policy: "q", Binding: "b"}, {Team: "payments"}}) {
			f.Since, f.Until = period.Since, period.Until
			compareReadiness(t, s, model, f)
		}
	}
}

// some are n of a list.
func some[T any](random *rand.Rand, n int, list []T) []T {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:n]
}

func compareGroups(t *testing.T, f sink.Filter, g sink.Grouping, want, got iter.Seq2[sink.Group, error]) {
	t.Helper()
	if diff := cmp.Diff(all(t, want), all(t, got), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%+v of %+v (- expected, + found):\n%s", g, f, diff)
	}
}

func compareReadiness(t *testing.T, s sink.Database, model counted, f sink.Filter) {
	t.Helper()
	for _, test := range []struct {
		name string
		want func(context.Context, readiness.Snapshot, sink.Filter, sink.Criteria) ([]sink.Readiness, error)
		got  func(context.Context, sink.Filter, sink.Criteria) ([]sink.Readiness, error)
	}{{"readiness", readiness.Read, s.Readiness}, {"readiness by namespace", readiness.ReadByNamespace, s.ReadinessByNamespace}} {
		want, err := test.want(t.Context(), model, f, sink.Criteria{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := test.got(t.Context(), f, sink.Criteria{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s of %s (- expected, + found):\n%s", test.name, fmt.Sprintf("%+v", f), diff)
		}
	}
}
