package sinktest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/sink"
)

// Agreement is a run of a log that ended at a time, and its rows.
func Agreement(run string, end time.Time) (sink.AgreementRun, []sink.Agreement) {
	r := sink.AgreementRun{
		Run: run, Cluster: "prod", Log: "log-1", FirstEvent: noon, LastEvent: end, VerifiedAt: noon.Add(time.Hour),
		KubernetesVersion: "1.37", VapshadowVersion: "v1.2.3", ApiserverVersion: "v0.37.1", CELVersion: "v0.28.0",
		Ingested: 100, Evaluated: 60, NotAdmission: 30, Skipped: 7, DeadLettered: 3, Recorded: 20, Unfinished: 1,
	}
	row := sink.Agreement{Policy: "replicas", Binding: "replicas-everywhere"}
	var rows []sink.Agreement
	add := func(outcome, reason string, count int64, auditIDs ...string) {
		row.Outcome, row.Reason, row.Count, row.AuditIDs = outcome, reason, count, auditIDs
		rows = append(rows, row)
	}
	add(sink.Agreed, sink.BothFail, 10)
	add(sink.Agreed, sink.BothPass, 40)
	add(sink.Disagreed, "OtherMessage", 2, "audit-1", "audit-2")
	add(sink.NotRecorded, "", 3)
	add(sink.Undecided, "NoHistory", 4)
	row.Binding, row.Annotation = "", "asked"
	add(sink.Agreed, "", 5)
	add(sink.Disagreed, "OtherValue", 1, "audit-3")
	row.Annotation = "other"
	add(sink.Agreed, "", 6)
	return r, rows
}

// readBack is what a store gives back of the rows of a run.
func readBack(run sink.AgreementRun, rows []sink.Agreement, latest bool) []sink.Agreement {
	out := make([]sink.Agreement, len(rows))
	for i, row := range rows {
		row.Run, row.Cluster, row.LastEvent = run.Run, run.Cluster, run.LastEvent
		row.Log, row.FirstEvent, row.Latest = run.Log, run.FirstEvent, latest
		out[i] = row
	}
	// By binding first: the rows of the annotation stand before those of the decisions.
	return append(out[5:], out[:5]...)
}

func save(t testing.TB, s sink.Store, run sink.AgreementRun, rows []sink.Agreement) {
	t.Helper()
	if err := s.SaveAgreement(t.Context(), run, rows); err != nil {
		t.Fatal(err)
	}
}

func agreementComesBack(t *testing.T, open Open) {
	run, rows := Agreement("run-1", noon.Add(time.Minute))
	refuseZeroFields(t, run)
	save(t, open(t), run, rows)
	if diff := cmp.Diff([]sink.AgreementRun{run}, all(t, open(t).AgreementRuns(t.Context(), sink.Filter{}))); diff != "" {
		t.Errorf("the run (- expected, + found):\n%s", diff)
	}
	if diff := cmp.Diff(readBack(run, rows, true), all(t, open(t).Agreement(t.Context(), sink.Filter{}))); diff != "" {
		t.Errorf("the rows (- expected, + found):\n%s", diff)
	}
}

// agreementIsStoredOnce: the same run again, also by others at the same time, changes nothing.
func agreementIsStoredOnce(t *testing.T, open Open) {
	stores := []sink.Database{open(t), open(t)}
	run, rows := Agreement("run-1", noon.Add(time.Minute))
	together(t, 6, func(i int) error {
		again := run
		again.VerifiedAt = time.Time{}
		if err := stores[i%2].SaveAgreement(t.Context(), again, rows); err != nil {
			return err
		}
		return stores[i%2].SaveAgreement(t.Context(), again, rows[:1])
	})
	early := run
	early.VerifiedAt = noon // It was made later too, which is what counts.
	save(t, stores[0], early, rows)
	got := all(t, stores[0].AgreementRuns(t.Context(), sink.Filter{}))
	if len(got) != 1 || time.Since(got[0].VerifiedAt) > time.Hour {
		t.Fatalf("runs: %v, want one of now", got)
	}
	if diff := cmp.Diff(readBack(run, rows, true), all(t, stores[0].Agreement(t.Context(), sink.Filter{}))); diff != "" {
		t.Errorf("the rows (- expected, + found):\n%s", diff)
	}
}

func agreementIsRefused(t *testing.T, open Open) {
	s := open(t)
	for name, change := range map[string]func(*sink.AgreementRun){
		"without a name": func(r *sink.AgreementRun) { r.Run = "" }, "without events": func(r *sink.AgreementRun) { r.LastEvent = time.Time{} },
	} {
		run, rows := Agreement("run-1", noon)
		change(&run)
		if err := s.SaveAgreement(t.Context(), run, rows); err == nil {
			t.Errorf("a run %s is stored", name)
		}
	}
	if got := all(t, s.AgreementRuns(t.Context(), sink.Filter{})); len(got) != 0 {
		t.Errorf("%d runs are stored", len(got))
	}
}

// latestAgreement: of the runs on one log, the one that reaches furthest counts, then the newest, for each policy.
func latestAgreement(t *testing.T, open Open) {
	s := open(t)
	for _, r := range []struct {
		run, cluster, log, policy, outcome string
		end, verified                      time.Duration
	}{
		{"short", "prod", "a", "p", sink.Agreed, 1, 9},
		{"older", "prod", "a", "p", sink.Agreed, 2, 3},
		{"newer", "prod", "a", "p", sink.Agreed, 2, 4},
		{"other log", "prod", "b", "p", sink.Agreed, 1, 1},
		{"other cluster", "test", "a", "p", sink.Agreed, 1, 1},
		{"other policy", "prod", "a", "q", sink.Agreed, 1, 1},
		{"without it", "prod", "a", "q", sink.NotGiven, 5, 5},
		{"never given", "prod", "a", "r", sink.NotGiven, 5, 5},
		{"made again", "prod", "c", "p", sink.Agreed, 1, 1},
		{"in between", "prod", "c", "p", sink.Agreed, 1, 2},
		{"made again", "prod", "c", "p", sink.Agreed, 1, 3},
	} {
		run, _ := Agreement(r.run, noon.Add(r.end*time.Minute))
		run.Cluster, run.Log, run.VerifiedAt = r.cluster, r.log, noon.Add(r.verified*time.Hour)
		save(t, s, run, []sink.Agreement{{Policy: r.policy, Outcome: r.outcome, Count: 1}})
	}
	var latest []string
	for _, row := range all(t, s.Agreement(t.Context(), sink.Filter{})) {
		if row.Latest {
			latest = append(latest, row.Run)
		}
	}
	if diff := cmp.Diff([]string{"made again", "other log", "other policy", "other cluster", "newer", "never given"}, latest); diff != "" {
		t.Errorf("the runs that count (- expected, + found):\n%s", diff)
	}
	if rows := all(t, s.Agreement(t.Context(), sink.Filter{Latest: true})); len(rows) != len(latest) {
		t.Errorf("the filter lets %d rows through, want %d", len(rows), len(latest))
	}
	sum, err := sink.SumAgreement(t.Context(), s, sink.Filter{Cluster: "prod", Policy: "p"})
	if err != nil || sum.Logs != 3 || sum.Decisions.Agreed != 3 || len(sum.Pairs) != 1 {
		t.Errorf("3 logs of the policy come to %+v, %v", sum, err)
	}
}

func agreementFilter(t *testing.T, open Open) {
	s := open(t)
	for i := range 4 {
		run, rows := Agreement(fmt.Sprint("run-", i), noon.Add(time.Duration(i)*time.Hour))
		run.Cluster = fmt.Sprint("cluster-", i%2)
		for n := range rows {
			rows[n].Policy = fmt.Sprint("policy-", i)
		}
		save(t, s, run, rows)
	}
	for name, test := range map[string]struct {
		filter     sink.Filter
		runs, rows int
	}{
		"all": {sink.Filter{}, 4, 32}, "cluster": {sink.Filter{Cluster: "cluster-1"}, 2, 16}, "policy": {sink.Filter{Policy: "policy-3"}, 4, 8},
		"binding": {sink.Filter{Binding: "replicas-everywhere"}, 4, 20},
		"time":    {sink.Filter{Since: noon.Add(time.Hour), Until: noon.Add(3 * time.Hour)}, 2, 16},
		"limit":   {sink.Filter{Limit: 3, Newest: true}, 3, 3},
	} {
		runs, rows := all(t, s.AgreementRuns(t.Context(), test.filter)), all(t, s.Agreement(t.Context(), test.filter))
		if len(runs) != test.runs || len(rows) != test.rows {
			t.Errorf("filter by %s: %d runs and %d rows, want %d and %d", name, len(runs), len(rows), test.runs, test.rows)
		}
	}
}

// agreementIsMaintained: a run goes with the last event of its log.
func agreementIsMaintained(t *testing.T, open Open) {
	s := open(t)
	for i := range 4 {
		run, rows := Agreement(fmt.Sprint("run-", i), noon.Add(-time.Duration(i)*day))
		run.FirstEvent = noon.Add(-90 * day)
		save(t, s, run, rows)
	}
	for _, test := range []struct {
		retention time.Duration
		kept      int
	}{{0, 4}, {2 * day, 3}, {time.Hour, 1}} {
		if err := s.Maintain(t.Context(), test.retention, noon); err != nil {
			t.Fatal(err)
		}
		runs, rows := all(t, s.AgreementRuns(t.Context(), sink.Filter{})), all(t, s.Agreement(t.Context(), sink.Filter{}))
		if len(runs) != test.kept || len(rows) != 8*test.kept {
			t.Errorf("after a retention of %v: %d runs and %d rows, want %d and %d", test.retention, len(runs), len(rows), test.kept, 8*test.kept)
		}
	}
	// Rows that had stayed behind would belong to a run of the same name.
	run, _ := Agreement("run-3", noon.Add(-3*day))
	save(t, s, run, nil)
	if rows := all(t, s.Agreement(t.Context(), sink.Filter{Until: noon.Add(-day)})); len(rows) != 0 {
		t.Errorf("%d rows of a run that was dropped are left", len(rows))
	}
}

// hostileAgreement: no name from a log fails a run.
func hostileAgreement(t *testing.T, open Open) {
	s := open(t)
	for i, text := range []string{"a\x00b", "\xff", `{"a"}`, `'; DROP TABLE agreement; --`, strings.Repeat("long ", 2000)} {
		at := noon.Add(time.Duration(i) * time.Hour)
		run := sink.AgreementRun{
			Run: fmt.Sprint(i, text), Cluster: text, Log: text, FirstEvent: at, LastEvent: at, VerifiedAt: at, KubernetesVersion: text,
			VapshadowVersion: text, ApiserverVersion: text, CELVersion: text,
		}
		row := sink.Agreement{Policy: text, Binding: text, Annotation: text, Outcome: text, Reason: text, Count: 1, AuditIDs: []string{text, "x", text}}
		save(t, s, run, []sink.Agreement{row, row})
		got := all(t, s.Agreement(t.Context(), sink.Filter{Since: at, Until: at.Add(time.Second)}))
		if len(got) != 1 || len(got[0].AuditIDs) != 3 || !got[0].Latest {
			t.Errorf("%.20q comes back as %.200v", text, got)
		}
	}
}
