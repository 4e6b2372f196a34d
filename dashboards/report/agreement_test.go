package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/dashboards/report"
)

func agreement() *report.Agreement {
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	a := &report.Agreement{
		KubernetesVersion: "1.36", OneFailure: true, Events: 1200, Recorded: 1, Unfinished: 2,
		Period:           &report.Period{First: at, Last: at.Add(time.Minute)},
		UndecidedBecause: map[string]int64{"NoBody": 3},
	}
	a.Add(report.ComparedPolicy{Policy: "a", Binding: "a2", BothFail: 1, Compared: report.Compared{Agreed: 1000, NotRecorded: 7}})
	a.Add(report.ComparedPolicy{Policy: "a", Binding: "a1", Compared: report.Compared{Agreed: 500, Undecided: 3, Reordered: 1}})
	a.AddAnnotation(report.ComparedAnnotation{Policy: "a", Key: "k", Compared: report.Compared{Agreed: 2}})
	return a
}

func text(t *testing.T, a *report.Agreement) string {
	t.Helper()
	var out strings.Builder
	if err := report.WriteAgreement(&out, a); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteAgreement(t *testing.T) {
	want := `vapshadow and the apiserver agree on all 1,500 recorded decisions of 1 policy.
Of 2 values of audit annotations they agree on all.
Undecided, as the log does not hold what they hang on: 3 (NoBody 3).
Not recorded, so that there is nothing to compare with: 7 (an apiserver 1.36 records no more than
one failure of a request).
Alike but for the order of words, which an apiserver leaves to chance: 1.

Read 1,200 events from 2026-11-21T06:00:00Z to 2026-11-21T06:01:00Z; 1 request holds a decision; 2
more were under way when the log ended.

POLICY  COMPARED  AGREED  BOTH FAIL  DISAGREED  UNDECIDED  NOT RECORDED
a          1,500   1,500          1          0          3             7

AUDIT ANNOTATION  COMPARED  AGREED  DISAGREED  UNDECIDED  NOT RECORDED
a/k                      2       2          0          0             0
`
	if diff := cmp.Diff(want, text(t, agreement())); diff != "" {
		t.Error(diff)
	}
}

func TestWriteAgreementDisagreed(t *testing.T) {
	a, index := agreement(), 3
	a.Add(report.ComparedPolicy{Policy: "z", Binding: "z", Compared: report.Compared{Disagreed: 2}})
	a.Disagreements = []report.Disagreement{{
		AuditID: "id\x1b[31m", StageTimestamp: a.Period.First, Operation: "UPDATE", Group: "apps", Resource: "deployments",
		SubResource: "scale", Namespace: "shop", Name: "web", Policy: "z", Binding: "z", ExpressionIndex: &index,
		Apiserver: report.Side{Said: "Pass"},
		Vapshadow: report.Side{Said: "Fail", Message: "too\nmany", ValidationActions: []string{"Audit"}},
	}}
	a.OtherDisagreements = 1
	a.NotGiven = make([]report.NotGiven, 12)
	got := text(t, a)
	if !strings.HasPrefix(got, "vapshadow and the apiserver disagree on 2 of 1,502 recorded decisions of 2 policies.\n") {
		t.Errorf("begins with %q", strings.SplitN(got, "\n", 2)[0])
	}
	want := `
policy z, binding z, validations[3]
  UPDATE of deployments.apps/scale shop/web, audit ID id, 2026-11-21T06:00:00Z
  apiserver: records no failure
  vapshadow: fails: too many [Audit]

1 more disagreement is not shown (--show).
`
	if !strings.Contains(got, want) {
		t.Errorf("%s\ndoes not contain\n%s", got, want)
	}
	if !strings.Contains(got, "- 2 more\n") {
		t.Error("does not say how many policies are not given")
	}
	if z, a := strings.Index(got, "\nz "), strings.Index(got, "\na "); z > a {
		t.Error("what disagrees does not come first")
	}
}

func TestAgreementOfNothing(t *testing.T) {
	passed := &report.Agreement{}
	passed.Add(report.ComparedPolicy{Policy: "p", Compared: report.Compared{Agreed: 5}})
	undecided := &report.Agreement{Recorded: 3}
	undecided.Add(report.ComparedPolicy{Policy: "p", Compared: report.Compared{Undecided: 5}})
	disagreed := &report.Agreement{}
	disagreed.Add(report.ComparedPolicy{Policy: "p", Compared: report.Compared{Disagreed: 5}})
	tests := map[string]struct {
		agreement *report.Agreement
		want      string // "" where it is something
	}{
		"something":               {agreement(), ""},
		"disagreement":            {disagreed, ""},
		"no policy":               {&report.Agreement{}, "no policy matched a request"},
		"policies of others":      {&report.Agreement{Recorded: 1, NotGiven: []report.NotGiven{{Policy: "q"}}}, "only of policies that are not given"},
		"nothing that was failed": {passed, "that none failed proves nothing"},
		"nothing that is known":   {undecided, "every recorded decision hangs on"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := test.agreement.Nothing()
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("Nothing() = %q, want %q in it", got, test.want)
			}
			if test.want != "" && !strings.HasPrefix(text(t, test.agreement), "Nothing could be compared.\n") {
				t.Error("the answer is not that nothing could be compared")
			}
		})
	}
}

func TestWriteAgreementJSON(t *testing.T) {
	var out strings.Builder
	if err := report.WriteAgreementJSON(&out, &report.Agreement{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "null"); n != 1 { // the period's
		t.Errorf("%d nulls in %s", n, &out)
	}
	out.Reset()
	if err := report.WriteAgreementYAML(&out, agreement()); err != nil {
		t.Fatal(err)
	}
	if want := "- agreed: 1000\n  binding: a2\n  bothFail: 1\n  compared: 1000\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%s does not contain %s", &out, want)
	}
}
