package sinktest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vapshadow/vapshadow/sink"
)

// check compares all rows of a store with what it was given.
func check(t testing.TB, r sink.Reader, want *sink.Batch) {
	t.Helper()
	if diff := cmp.Diff(Expect(want), Read(t, r, sink.Filter{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the tables differ (- expected, + found):\n%s", diff)
	}
}

func rowsComeBack(t *testing.T, open Open) {
	b := Sample("audit/0", 0, 20)
	for _, row := range []any{b.Failures[0], b.Annotations[0], b.Rollups[0], b.Ledger[0], b.DeadLetters[0], b.Policies[0]} {
		refuseZeroFields(t, row)
	}
	commit(t, open(t), b)
	check(t, open(t), b)
}

// refuseZeroFields fails where a row of the sample leaves a field empty: such a field could get lost unseen. Few may be
// empty by nature.
func refuseZeroFields(t *testing.T, row any) {
	v := reflect.ValueOf(row)
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; name {
		case "N", "Delivery", "Reason":
		default:
			if v.Field(i).IsZero() {
				t.Errorf("the sample leaves %s.%s empty", v.Type(), name)
			}
		}
	}
}

func filterNarrows(t *testing.T, open Open) {
	s := open(t)
	b := Sample("audit/0", 0, 30)
	names := func(i int) (cluster, policy, namespace string) {
		return fmt.Sprint("cluster-", i%2), fmt.Sprint("policy-", i%3), fmt.Sprint("ns-", i%5)
	}
	for i := range b.Failures {
		f := &b.Failures[i]
		f.Cluster, f.Policy, f.Namespace = names(i)
		f.Result = []string{"Fail", "Error", "Unknown"}[i%3]
		f.Team, f.Repeats = []string{"", "payments"}[i%2], i%3 == 0
	}
	commit(t, s, b)
	for _, test := range []struct {
		name   string
		filter sink.Filter
		keep   func(i int, f sink.Failure) bool
	}{
		{"cluster", sink.Filter{Cluster: "cluster-1"}, func(i int, f sink.Failure) bool { return f.Cluster == "cluster-1" }},
		{"policy", sink.Filter{Policy: "policy-2"}, func(i int, f sink.Failure) bool { return f.Policy == "policy-2" }},
		{"binding", sink.Filter{Binding: "none"}, func(int, sink.Failure) bool { return false }},
		{"namespace", sink.Filter{Namespace: "ns-4", Policy: "policy-1"}, func(i int, f sink.Failure) bool {
			return f.Namespace == "ns-4" && f.Policy == "policy-1"
		}},
		{"team", sink.Filter{Team: "payments"}, func(i int, f sink.Failure) bool { return f.Team == "payments" }},
		{"what does not repeat", sink.Filter{New: true}, func(i int, f sink.Failure) bool { return !f.Repeats }},
		{"audit ID", sink.Filter{AuditID: "audit/0-7"}, func(i int, f sink.Failure) bool { return i == 7 }},
		{"results", sink.Filter{Results: []string{"Fail", "Unknown"}}, func(i int, f sink.Failure) bool { return f.Result != "Error" }},
		{"time", sink.Filter{Since: b.Failures[5].StageTimestamp, Until: b.Failures[9].StageTimestamp}, func(i int, _ sink.Failure) bool {
			return i >= 5 && i < 9
		}},
		{"limit", sink.Filter{Limit: 3}, func(i int, _ sink.Failure) bool { return i < 3 }},
		{"source, which failures do not have", sink.Filter{Source: "none"}, func(int, sink.Failure) bool { return true }},
	} {
		var want []sink.Failure
		for i, f := range b.Failures {
			if test.keep(i, f) {
				want = append(want, f)
			}
		}
		if diff := cmp.Diff(want, Read(t, s, test.filter).Failures); diff != "" {
			t.Errorf("filter by %s (- expected, + found):\n%s", test.name, diff)
		}
	}
	if got := Read(t, s, sink.Filter{Source: "none"}).Ledger; len(got) != 0 {
		t.Errorf("another source's ledger: %v", got)
	}
}

// sameRowAgain: an event that was delivered at two places is counted twice by the ledger (its reader knows why) and
// has its failure once.
func sameRowAgain(t *testing.T, open Open) {
	s := open(t)
	first := Sample("audit/0", 0, 3)
	commit(t, s, first)
	again := Sample("audit/0", 0, 3)
	again.Moves = []sink.Move{move("audit/1", 0, 3)}
	again.Failures[0].Message = "evaluated again, and otherwise"
	commit(t, s, again)
	check(t, s, join(first, again))
	if got := Read(t, s, sink.Filter{}); len(got.Failures) != 3 || got.Failures[0].Message != first.Failures[0].Message {
		t.Errorf("%d failures, the first says %q; want the 3 that were first", len(got.Failures), got.Failures[0].Message)
	}
}

// rowsOfOneExpression: errors of several validations are reported for index 0, and are several rows.
func rowsOfOneExpression(t *testing.T, open Open) {
	s := open(t)
	b := Sample("audit/0", 0, 1)
	second := b.Failures[0]
	second.N, second.Message = 1, "validation failed due to running out of cost budget"
	b.Failures = append(b.Failures, second)
	commit(t, s, b)
	check(t, s, b)
	if got := Read(t, s, sink.Filter{}).Failures; len(got) != 2 {
		t.Errorf("%d rows, want 2", len(got))
	}
}

func batchStaysAsItIs(t *testing.T, open Open) {
	b, same := Sample("audit/0", 0, 20), Sample("audit/0", 0, 20)
	for _, b := range []*sink.Batch{b, same} {
		b.Failures[3].Message = "a\x00b"
		b.Failures[4].Groups = []string{"\xff"}
		b.Rollups[3].Minute = b.Rollups[3].Minute.Add(3 * time.Second)
		b.Failures[0], b.Failures[9] = b.Failures[9], b.Failures[0]
	}
	commit(t, open(t), b)
	if diff := cmp.Diff(same, b); diff != "" {
		t.Errorf("Commit changed the batch:\n%s", diff)
	}
}
