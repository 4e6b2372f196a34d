package document_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/dashboards/report/document"
	"github.com/vapshadow/vapshadow/sink"
)

// TestAgreementInEachForm: what was not compared is said as plainly as what was.
func TestAgreementInEachForm(t *testing.T) {
	without, with := store(t, sample()), verified(t, sample())
	for _, test := range []struct {
		name string
		d    *document.Document
		says []string
	}{
		{"no run", build(t, without, sink.Filter{}), []string{"not verified: vapshadow was not compared with the decisions that an apiserver recorded"}},
		{"a run", build(t, with, sink.Filter{}), []string{
			"verified: vapshadow and the apiserver disagree on 1 of 9 recorded decisions and on 1 of 1 values of audit annotations; 2 more could not be compared",
			"breaks / breaks-b: OtherMessage 1, such as id-1", "1 log, from 2026-03-14 12:00:00Z to 2026-03-14 13:00:00Z",
		}},
		{"a run before the period", build(t, with, sink.Filter{Since: day.Add(2 * time.Hour)}), []string{"not verified: "}},
	} {
		for _, format := range document.Formats {
			got := strings.Join(strings.Fields(strings.ReplaceAll(write(t, format, test.d), `\_`, "_")), " ")
			for _, says := range test.says {
				if format == "json" && !strings.Contains(says, "verified") {
					continue // it has fields for the rest
				}
				if !strings.Contains(got, says) {
					t.Errorf("%s, %s: does not say %q", test.name, format, says)
				}
			}
		}
	}
}

func TestAgreementOfTheDocument(t *testing.T) {
	want := document.Agreement{
		Sentence: "verified: vapshadow and the apiserver disagree on 1 of 9 recorded decisions; 2 more could not be compared",
		Logs:     1, First: day, Last: day.Add(time.Hour),
		Decisions:     sink.AgreementCounts{Agreed: 8, BothFail: 3, Disagreed: 1, Undecided: 2},
		Disagreements: []document.Disagreement{{Policy: "breaks", Binding: "breaks-b", Kind: "OtherMessage", Count: 1, AuditIDs: []string{"id-1"}}},
		NotCompared:   map[string]map[string]int64{sink.Undecided: {"NoHistory": 2}},
	}
	got := build(t, verified(t, sample()), sink.Filter{Policy: "breaks", Binding: "breaks-b"}).Agreement
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- expected, + found):\n%s", diff)
	}
}
