package pipeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/internal/pipeline"
	"github.com/vapshadow/vapshadow/sink"
)

// verifiedLog has decisions of each outcome.
func verifiedLog() []event {
	named := func(id string, e event) event { return e.with("auditID", id) }
	return []event{
		named("fails", created(1, "1", "y", "").seen("1, y").failed("two 0 a must be x")),
		named("reordered", created(2, "x", "2", "").seen("2, x").failed("two 1 b must, be all by means, y")),
		named("message", created(3, "1", "y", "").seen("1, y").failed("two 0 other")),
		named("missing", created(4, "1", "y", "").seen("1, y")),
		named("too much", created(5, "x", "y", "").seen("x, y").failed("two 0 a must be x")),
		named("value", created(6, "x", "y", "").seen("else")),
		named("rejected", created(7, "x", "y", "ok").rejected(422, "Forbidden", denied+"no c")),
		named("other", created(8, "x", "y", "").seen("x, y").failed("else 0 e")),
		named("unknown", created(9, "x", "y", "").collection().failed("names 0 gone: n")),
		named("actions", created(9, "1", "y", "").seen("1, y").noted("validation.policy.admission.k8s.io/validation_failure",
			`[{"message":"a must be x","policy":"two","binding":"two","expressionIndex":0,"validationActions":["Audit","Warn"]}]`)),
		named("denied", created(9, "x", "y", "no").seen("x, y")),
		named("denied otherwise", created(9, "x", "y", "no").rejected(422, "Forbidden", denied+"else")),
		named("no value", created(9, "x", "y", "").noted("two/else", "v")),
		named("read", event{"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete", "verb": "get", "stageTimestamp": fmt.Sprintf(at, 10),
			"objectRef": map[string]any{"resource": "configmaps", "namespace": "ns", "name": "n", "apiVersion": "v1"}, "responseStatus": map[string]any{"code": 200}}),
	}
}

var comparedBy = pipeline.Compared{Cluster: "prod", KubernetesVersion: "1.37", VapshadowVersion: "v1", ApiserverVersion: "v0.37.1", CELVersion: "v0.28.0"}

func verifiedRows(t *testing.T, cfg pipeline.ReplayConfig, by pipeline.Compared, events []event) (sink.AgreementRun, []sink.Agreement, *pipeline.Agreement) {
	t.Helper()
	cfg.Minor = 37
	agreement, _ := verify(t, cfg, events)
	run, rows, err := agreement.Rows(by)
	if err != nil {
		t.Fatal(err)
	}
	return run, rows, agreement
}

func TestVerifyRows(t *testing.T) {
	_, rows, agreement := verifiedRows(t, pipeline.ReplayConfig{}, comparedBy, verifiedLog())
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s/%s%s %s %s %d %q", r.Policy, r.Binding, r.Annotation, r.Outcome, r.Reason, r.Count, r.AuditIDs))
	}
	want := []string{
		`deny/deny Agreed BothPass 9 []`,
		`deny/deny NotRecorded  1 []`,
		`deny/deny Disagreed OnlyApiserverRejects 1 ["rejected"]`,
		`deny/deny Disagreed OnlyVapshadowRejects 1 ["denied"]`,
		`deny/deny Disagreed OtherRejection 1 ["denied otherwise"]`,
		`names/names Undecided NoBody 1 []`,
		`two/two Agreed BothFail 1 []`,
		`two/two Agreed Reordered 1 []`,
		`two/two Agreed BothPass 6 []`,
		`two/two Disagreed OnlyApiserverFails 1 ["too much"]`,
		`two/two Disagreed OnlyVapshadowFails 1 ["missing"]`,
		`two/two Disagreed OtherActions 1 ["actions"]`,
		`two/two Disagreed OtherMessage 1 ["message"]`,
		`two/two Undecided NoBody 1 []`,
		`two/else Disagreed OnlyApiserverAnnotates 1 ["no value"]`,
		`two/seen Agreed  7 []`,
		`two/seen Agreed Reordered 1 []`,
		`two/seen Disagreed OnlyVapshadowAnnotates 3 ["rejected" "denied otherwise" "no value"]`,
		`two/seen Disagreed OtherValue 1 ["value"]`,
		`else/else NotGiven  1 []`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the rows (- expected, + found):\n%s", diff)
	}
	// Each count of the agreement is in the rows, once.
	sums := map[string]int64{}
	for _, r := range rows {
		name := r.Outcome
		if r.Annotation != "" {
			name = "value " + name
		}
		sums[name] += r.Count
	}
	expected := map[string]int64{}
	for _, p := range agreement.Compared {
		expected[sink.Agreed] += p.Failed + p.Passed
		expected[sink.Disagreed] += p.Disagreed
		expected[sink.Undecided] += p.Undecided
		expected[sink.NotRecorded] += p.NotRecorded
	}
	for _, v := range agreement.Annotations {
		expected["value "+sink.Agreed] += v.Agreed
		expected["value "+sink.Disagreed] += v.Disagreed
	}
	for _, n := range agreement.NotGiven {
		expected[sink.NotGiven] += n.Events
	}
	if diff := cmp.Diff(expected, sums); diff != "" {
		t.Errorf("the sums (- of the agreement, + of the rows):\n%s", diff)
	}
}

// TestVerifyRowsOnce: what is the same has the same name, and nothing else has.
func TestVerifyRowsOnce(t *testing.T) {
	first, _, _ := verifiedRows(t, pipeline.ReplayConfig{}, comparedBy, verifiedLog())
	again, _, _ := verifiedRows(t, pipeline.ReplayConfig{Workers: 5}, comparedBy, verifiedLog())
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same comparison is another run:\n%s", diff)
	}
	if first.Run == "" || first.Ingested != 14 || first.Ingested != first.Evaluated+first.NotAdmission+first.Skipped+first.DeadLettered {
		t.Errorf("the events of the run do not add up to 14: %+v", first)
	}
	grown, _, _ := verifiedRows(t, pipeline.ReplayConfig{}, comparedBy, append(verifiedLog(), created(11, "x", "y", "").seen("x, y")))
	if grown.Run == first.Run || grown.Log != first.Log || !grown.LastEvent.After(first.LastEvent) {
		t.Errorf("a log that has grown: %+v, before %+v", grown, first)
	}
	newer := comparedBy
	newer.VapshadowVersion = "v2"
	if other, _, _ := verifiedRows(t, pipeline.ReplayConfig{}, newer, verifiedLog()); other.Run == first.Run || other.Log != first.Log {
		t.Errorf("another version: %+v, before %+v", other, first)
	}
	// A policy that says otherwise and comes to the same is another input.
	agreement, _ := verifyWith(t, strings.Replace(verifyPolicies, "object.data.a == 'x'", "'x' == object.data.a", 1), pipeline.ReplayConfig{Minor: 37}, verifiedLog())
	if other, _, err := agreement.Rows(comparedBy); err != nil || other.Run == first.Run {
		t.Errorf("another policy: %+v, before %+v (%v)", other, first, err)
	}
	since := pipeline.ReplayConfig{Since: time.Date(2026, 11, 21, 6, 0, 5, 0, time.UTC)}
	if later, _, _ := verifiedRows(t, since, comparedBy, verifiedLog()); later.Log == first.Log || later.Skipped != 4 || later.Ingested != 14 {
		t.Errorf("a part of the log: %+v", later)
	}
}

// TestVerifyRowsOfABrokenLog: what cannot be read is counted beside the events, and a repeated event once.
func TestVerifyRowsOfABrokenLog(t *testing.T) {
	broken := event{"kind": "Event", "apiVersion": "audit.k8s.io/v1", "verb": 7}
	_, once, _ := verifiedRows(t, pipeline.ReplayConfig{}, comparedBy, verifiedLog())
	run, twice, _ := verifiedRows(t, pipeline.ReplayConfig{}, comparedBy, append(verifiedLog(), broken, verifiedLog()[0]))
	if diff := cmp.Diff(once, twice); diff != "" {
		t.Errorf("a repeated event is compared twice:\n%s", diff)
	}
	if run.Ingested != 16 || run.DeadLettered != 1 || run.Skipped != 1 || run.Ingested != run.Evaluated+run.NotAdmission+run.Skipped+run.DeadLettered {
		t.Errorf("the events of the run: %+v", run)
	}
}
