package sinktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/sink"
)

// readinessOf holds the store to the formulas of docs/readiness.md. All stores are held to the same numbers, so all agree.
func readinessOf(t *testing.T, open Open) {
	s := open(t)
	got, err := s.Readiness(t.Context(), sink.Filter{}, sink.Criteria{})
	if err != nil || len(got) != 0 {
		t.Fatalf("an empty store: %v, %v", got, err)
	}
	b := readinessBatch()
	b.Moves = []sink.Move{move("audit/0", 0, 1)}
	commit(t, s, b)
	end := readinessDay.AddDate(0, 0, 8).Add(time.Minute)
	last := end.Add(-time.Minute)
	clean := sink.Readiness{
		Cluster: "prod", Policy: "p", Binding: "clean", Verdict: sink.Ready, First: readinessDay, Last: last, Days: 8 + 1.0/1440, Now: end,
		Matched: 1000, DecidedExact: 900, DecidedPresumed: 80, DecidedOtherwise: 10, Unknown: 10,
		UnknownByReason: map[string]int64{"NoHistory": 7, "": 3}, Texts: 1, SilentDays: 1,
	}
	brief := sink.Readiness{
		Cluster: "prod", Policy: "p", Binding: "brief", Verdict: sink.NotEnoughEvidence, First: readinessDay, Last: readinessDay,
		Lacking: []string{"0.0 of 7 days observed", "98 of 100 decided (98.0%), 99% are asked for"},
		Days:    1.0 / 1440, Now: end, Matched: 100, DecidedExact: 98, Unknown: 2, UnknownByReason: map[string]int64{"NoHistory": 2}, Texts: 1,
	}
	changed := sink.Readiness{
		Cluster: "prod", Policy: "p", Binding: "changed", Verdict: sink.NotEnoughEvidence, First: readinessDay, Last: last,
		Lacking: []string{"its text changed in this time: look at what came since 2026-03-22T12:00:00Z"},
		Days:    8 + 1.0/1440, SilentDays: 1, Now: end, Matched: 2, DecidedExact: 2, Texts: 2, TextSince: last,
	}
	failing := sink.Readiness{
		Cluster: "prod", Policy: "p", Binding: "failing", Verdict: sink.WouldBreak, First: readinessDay, Last: last, Days: 8 + 1.0/1440, SilentDays: 1, Now: end,
		Matched: 7, DecidedExact: 7, Texts: 1,
		WouldFail: 6, ClusterScoped: 1, Repeats: 2, Workloads: 4, NewWorkloads: 3, Namespaces: 2, Users: 6, FailingNow: 1, Healed: 3,
		SystemActors: 3, SystemActorNames: []string{"system:kube-scheduler", "system:node:a", "system:serviceaccount:kube-system:job-controller"},
	}
	blocked := sink.Readiness{
		Cluster: "prod", Policy: "p", Binding: "blocked", Verdict: sink.Misconfigured, First: last, Last: last, Days: 1.0 / 1440, Now: end,
		Matched: 2, DecidedExact: 2, Texts: 1, WouldFail: 1, Workloads: 1, NewWorkloads: 1, Namespaces: 1, Users: 1, FailingNow: 1, BlocksAnyway: 1, ConfigErrors: 2,
	}
	silent := sink.Readiness{
		Cluster: "prod", Policy: "p", Binding: "silent", Verdict: sink.NotEnoughEvidence, Lacking: []string{"nothing matched"}, Now: end,
	}
	unbound := sink.Readiness{
		Cluster: "prod", Policy: "unbound", Verdict: sink.NotEnoughEvidence, Lacking: []string{"nothing matched"}, Now: end,
	}
	elsewhere := sink.Readiness{
		Cluster: "test", Policy: "p", Binding: "clean", Verdict: sink.NotEnoughEvidence, Lacking: []string{"0.0 of 7 days observed"},
		First: readinessDay, Last: readinessDay, Days: 1.0 / 1440, Now: readinessDay.Add(time.Minute), Matched: 1, DecidedExact: 1, Texts: 1,
	}
	for _, one := range []*sink.Readiness{&clean, &brief, &changed, &failing, &blocked, &elsewhere} {
		one.PolicyHash, one.BindingHash = "h1", "h2"
		if one.TextSince.IsZero() {
			one.TextSince = one.First
		}
	}
	later := failing
	later.SilentDays = 0
	later.First, later.TextSince, later.Days, later.Matched, later.DecidedExact = last, last, 1.0/1440, 1, 1
	later.WouldFail, later.ClusterScoped, later.Workloads, later.Namespaces, later.Users = 1, 0, 1, 1, 1
	later.Repeats, later.NewWorkloads = 1, 0
	later.FailingNow, later.Healed, later.SystemActors, later.SystemActorNames = 1, 0, 0, nil
	longAgo := failing
	longAgo.Now, longAgo.FailingNow, longAgo.Healed = end.AddDate(0, 1, 0), 0, 4
	exacting := clean
	exacting.Verdict, exacting.Lacking = sink.NotEnoughEvidence, []string{"7.0 of 8 days observed (without 1 day that the cluster has no data of)"}
	patient := brief
	patient.Verdict, patient.Lacking = sink.Ready, nil

	of := func(binding string) sink.Filter { return sink.Filter{Cluster: "prod", Binding: binding} }
	for _, test := range []struct {
		name     string
		filter   sink.Filter
		criteria sink.Criteria
		want     []sink.Readiness
	}{
		{"all", sink.Filter{}, sink.Criteria{}, []sink.Readiness{blocked, brief, changed, clean, failing, silent, unbound, elsewhere}},
		{"a cluster", sink.Filter{Cluster: "test"}, sink.Criteria{}, []sink.Readiness{elsewhere}},
		{"a policy", sink.Filter{Policy: "unbound"}, sink.Criteria{}, []sink.Readiness{unbound}},
		{"a binding of which nothing matched", of("silent"), sink.Criteria{}, []sink.Readiness{silent}},
		{"since a part of a minute", sink.Filter{Binding: "failing", Since: last.Add(30 * time.Second)}, sink.Criteria{}, []sink.Readiness{later}},
		{"a team", sink.Filter{Binding: "failing", Team: "payments"}, sink.Criteria{}, []sink.Readiness{later}},
		{"now is given", of("failing"), sink.Criteria{Now: end.AddDate(0, 1, 0)}, []sink.Readiness{longAgo}},
		{"a day without data is no day observed", of("clean"), sink.Criteria{Days: 8}, []sink.Readiness{exacting}},
		{"other criteria", of("brief"), sink.Criteria{Days: -1, Coverage: 98}, []sink.Readiness{patient}},
	} {
		got, err := s.Readiness(t.Context(), test.filter, test.criteria)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (- expected, + found):\n%s", test.name, diff)
		}
	}
}

// readinessByNamespace: the parts come to the whole, and each namespace is judged by itself.
func readinessByNamespace(t *testing.T, open Open) {
	s := open(t)
	b := readinessBatch()
	b.Moves = []sink.Move{move("audit/0", 0, 1)}
	commit(t, s, b)
	list, err := s.ReadinessByNamespace(t.Context(), sink.Filter{Cluster: "prod", Binding: "failing"}, sink.Criteria{})
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		Namespace, Team               string
		Verdict                       sink.ReadinessVerdict
		Matched, WouldFail, Workloads int64
	}
	var got []part
	for _, r := range list {
		got = append(got, part{r.Namespace, r.Team, r.Verdict, r.Matched, r.WouldFail, r.Workloads})
	}
	want := []part{{"", "", sink.WouldBreak, 0, 1, 1}, {"kube-system", "", sink.WouldBreak, 0, 1, 1}, {"shop", "payments", sink.WouldBreak, 7, 4, 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- expected, + found):\n%s", diff)
	}
	list, err = s.ReadinessByNamespace(t.Context(), sink.Filter{Cluster: "prod", Binding: "clean"}, sink.Criteria{})
	if err != nil || len(list) != 1 || list[0].Namespace != "shop" || list[0].Verdict != sink.Ready || list[0].UnknownByReason["NoHistory"] != 7 {
		t.Errorf("a clean binding: %+v, %v", list, err)
	}
}

// readinessDay is the first minute of the data.
var readinessDay = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// readinessBatch has a binding for each verdict.
func readinessBatch() *sink.Batch {
	b := &sink.Batch{}
	last := readinessDay.AddDate(0, 0, 8)
	team := func(at time.Time) string { return map[bool]string{false: "zebra", true: "payments"}[at.Equal(last)] }
	count := func(binding string, at time.Time, result, evidence, because string, n int64) *sink.Rollup {
		b.Rollups = append(b.Rollups, sink.Rollup{
			Minute: at, Cluster: "prod", Policy: "p", Binding: binding, PolicyHash: "h1", BindingHash: "h2", Namespace: "shop",
			Team: team(at), Resource: "pods", Operation: "CREATE", Result: result, Evidence: evidence, Because: because, Count: n,
		})
		return &b.Rollups[len(b.Rollups)-1]
	}
	for day := range 9 {
		if day != 3 { // on which nothing is recorded, of any policy
			count("clean", readinessDay.AddDate(0, 0, day), "Pass", "Exact", "", 50)
		}
	}
	count("clean", last, "Skipped", "Exact", "", 500)
	count("clean", last, "Pass", "Presumed", "", 80)
	count("clean", last, "Pass", "Missing", "", 10)
	count("clean", last, "Unknown", "Missing", "NoHistory", 7)
	count("clean", last, "Unknown", "Missing", "", 2).PolicyHash = "" // no text of its own
	count("clean", last, "Unknown", "Missing", "", 1).BindingHash = ""
	count("brief", readinessDay, "Pass", "Exact", "", 98)
	count("brief", readinessDay, "Unknown", "Missing", "NoHistory", 2)
	count("changed", readinessDay, "Pass", "Exact", "", 1).BindingHash = "h9"
	count("changed", last, "Pass", "Exact", "", 1)
	count("failing", readinessDay, "Fail", "Exact", "", 6)
	count("failing", last, "Fail", "Exact", "", 1)
	count("blocked", last, "Error", "Exact", "", 2)
	count("clean", readinessDay, "Pass", "Exact", "", 1).Cluster = "test"

	fail := func(binding, auditID string, at time.Time) *sink.Failure {
		b.Failures = append(b.Failures, sink.Failure{
			Place:  sink.Place{Cluster: "prod", AuditID: auditID, StageTimestamp: at.Add(10 * time.Second)},
			Policy: "p", Binding: binding, PolicyHash: "h1", BindingHash: "h2", Namespace: "shop", Kind: "Pod", Name: "web-1",
			OwnerKind: "Deployment", OwnerName: "web", Username: "jane", Result: "Fail", Evidence: "Exact",
		})
		return &b.Failures[len(b.Failures)-1]
	}
	fail("failing", "a", readinessDay)
	fail("failing", "a", readinessDay).ExpressionIndex = 1 // the same request
	b.Failures[len(b.Failures)-1].Repeats = true           // but not the other failure of it
	f := fail("failing", "b", last)
	f.Name, f.Username = "web-2", "system:anonymous" // the same workload
	f.Repeats, f.Team = true, "payments"
	f = fail("failing", "c", readinessDay) // another item of a deletecollection, with no owner
	f.Name, f.OwnerKind, f.OwnerName, f.Username = "web", "", "", "system:node:a"
	f = fail("failing", "c", readinessDay)
	f.Item, f.OwnerKind, f.OwnerName, f.Username, f.Namespace = 1, "", "", "system:serviceaccount:kube-system:job-controller", "kube-system"
	f.Repeats = true // and so does its workload
	f = fail("failing", "d", readinessDay)
	f.Namespace, f.OwnerKind, f.OwnerName, f.Username, f.Result = "", "", "", "system:kube-scheduler", "Error"
	fail("failing", "e", readinessDay).Username = "system:serviceaccount:shop:builder"
	f = fail("failing", "f", readinessDay)
	f.Result, f.Ignored, f.Username = "Error", true, "system:ignored"
	f = fail("failing", "g", readinessDay)
	f.Result, f.Username = "Unknown", "system:unknown"
	f = fail("blocked", "h", last)
	f.Result, f.ExpressionIndex, f.BlocksAnyway = "Error", -1, true
	f = fail("blocked", "i", last)
	f.Result, f.ExpressionIndex, f.Ignored = "Error", -1, true

	for i, text := range []string{"clean", "silent"} {
		b.Policies = append(b.Policies, sink.PolicyText{
			Cluster: "prod", Kind: "ValidatingAdmissionPolicyBinding", Name: text, Hash: fmt.Sprint("h", i), Text: `{"spec":{"policyName":"p"}}`,
		})
	}
	b.Policies = append(b.Policies,
		sink.PolicyText{Cluster: "prod", Kind: "ValidatingAdmissionPolicyBinding", Name: "broken", Hash: "h", Text: `{"spec":`},
		sink.PolicyText{Cluster: "prod", Kind: "ValidatingAdmissionPolicy", Name: "unbound", Hash: "h1", Text: "{}"},
		sink.PolicyText{Cluster: "prod", Kind: "ValidatingAdmissionPolicy", Name: "p", Hash: "h1", Text: "{}"})
	return b
}
