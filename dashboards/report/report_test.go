package report_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/dashboards/report"
	"github.com/vapshadow/vapshadow/sink"
)

var update = flag.Bool("update", false, "write the golden files anew")

func readRecords(t testing.TB) []*sink.Record {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*sink.Record
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		rec := &sink.Record{}
		if err := json.Unmarshal(lines.Bytes(), rec); err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
	if len(all) == 0 {
		t.Fatal("no records")
	}
	return all
}

func totals() report.Totals {
	return report.Totals{
		Events: 1234, OutOfPeriod: 1,
		NotAdmission: map[string]int64{"ReadOnly": 1000, "OtherStage": 223, "Excluded": 1},
		Skipped:      map[string]int64{"NotJSON": 2},
		First:        time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
		Last:         time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		Pairs: []report.Pair{
			{Policy: "require-owner-label", Binding: "audit-all", ValidationActions: []string{"Audit", "Warn"}},
			{Policy: "max-replicas", Binding: "max-replicas-prod", ValidationActions: []string{"Deny"}},
			{Policy: "never-matched-by-anything-in-this-log", Binding: "never", ValidationActions: []string{"Audit"}},
		},
		Refused:  []string{"policies/bad.yaml:1 (document 1): spec.validations[0].expression: Invalid value: \"x\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'x'\n | x\n | ^"},
		Warnings: []string{"binding \x1b[2Jorphan: policy \"gone\" is not there"},
	}
}

func summarize(records []*sink.Record, o report.Options, t report.Totals) *report.Summary {
	b := report.NewBuilder(o)
	for _, rec := range records {
		b.Add(rec)
	}
	return b.Summary(t)
}

func TestGolden(t *testing.T) {
	table := func(wide bool) func(io.Writer, *report.Summary) error {
		return func(w io.Writer, s *report.Summary) error { return report.WriteTable(w, s, wide) }
	}
	records := readRecords(t)
	tests := []struct {
		file    string
		summary *report.Summary
		write   func(io.Writer, *report.Summary) error
	}{
		{"records.table", summarize(records, report.Options{}, totals()), table(false)},
		{"records.wide", summarize(records, report.Options{}, totals()), table(true)},
		{"records.json", summarize(records, report.Options{}, totals()), report.WriteJSON},
		{"records.yaml", summarize(records, report.Options{}, totals()), report.WriteYAML},
		{"limited.table", summarize(records, report.Options{Top: 1, Names: 1, Objects: 1}, report.Totals{}), table(false)},
		{"nothing.table", summarize(nil, report.Options{}, report.Totals{}), table(false)},
		{"nothing.json", summarize(nil, report.Options{}, report.Totals{}), report.WriteJSON},
		{"norequests.table", summarize(nil, report.Options{}, totals()), table(false)},
		{"clean.table", summarize(records[:1], report.Options{}, report.Totals{Events: 1, Pairs: totals().Pairs[1:2]}), table(false)},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			var got bytes.Buffer
			if err := test.write(&got, test.summary); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", test.file)
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got; -update writes it anew)\n%s", diff)
			}
		})
	}
}

func TestYAMLHoldsWhatJSONHolds(t *testing.T) {
	s := summarize(readRecords(t), report.Options{}, totals())
	var asJSON, asYAML bytes.Buffer
	if err := report.WriteJSON(&asJSON, s); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteYAML(&asYAML, s); err != nil {
		t.Fatal(err)
	}
	var fromJSON, fromYAML report.Summary
	if err := json.Unmarshal(asJSON.Bytes(), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(asYAML.Bytes(), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
		t.Errorf("JSON and YAML differ:\n%s", diff)
	}
	if diff := cmp.Diff(*s, fromJSON); diff != "" {
		t.Errorf("JSON lost something:\n%s", diff)
	}
}

func TestOrderOfRecordsDoesNotMatter(t *testing.T) {
	records := readRecords(t)
	want := summarize(records, report.Options{}, totals())
	rapid.Check(t, func(t *rapid.T) {
		shuffled := rapid.Permutation(records).Draw(t, "records")
		if diff := cmp.Diff(want, summarize(shuffled, report.Options{}, totals())); diff != "" {
			t.Fatalf("another order gives another summary:\n%s", diff)
		}
	})
}

// Any record, of known and unknown results, is in exactly one of the parts that Matched is the sum of.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "b", ""})
		evaluation := rapid.Custom(func(t *rapid.T) sink.Evaluation {
			verdict := rapid.Custom(func(t *rapid.T) sink.Verdict {
				return sink.Verdict{
					Result:  rapid.SampledFrom([]string{"Fail", "Error", "Unknown", "New"}).Draw(t, "verdict"),
					Message: word.Draw(t, "message"), Ignored: rapid.Bool().Draw(t, "ignored"), Because: word.Draw(t, "because"),
				}
			})
			return sink.Evaluation{
				Policy: word.Draw(t, "policy"), Binding: word.Draw(t, "binding"),
				ValidationActions: rapid.SliceOf(rapid.SampledFrom([]string{"Deny", "Warn", "Audit"})).Draw(t, "actions"),
				Result:            rapid.SampledFrom([]string{"Pass", "Fail", "Error", "Unknown", "Skipped", "New"}).Draw(t, "result"),
				Evidence:          rapid.SampledFrom([]string{"Exact", "Presumed", "Missing"}).Draw(t, "evidence"),
				BlocksAnyway:      rapid.Bool().Draw(t, "blocks"),
				Verdicts:          rapid.SliceOfN(verdict, 0, 3).Draw(t, "verdicts"),
			}
		})
		record := rapid.Custom(func(t *rapid.T) *sink.Record {
			return &sink.Record{Name: word.Draw(t, "name"), Evaluations: rapid.SliceOfN(evaluation, 0, 5).Draw(t, "evaluations")}
		})
		records := rapid.SliceOf(record).Draw(t, "records")
		s := summarize(records, report.Options{}, report.Totals{})

		matched, stopped := int64(0), map[[2]string]int64{}
		for _, rec := range records {
			stops := map[[2]string]bool{}
			for _, e := range rec.Evaluations {
				pair := [2]string{e.Policy, e.Binding}
				stops[pair] = stops[pair] || e.BlocksAnyway
				for _, v := range e.Verdicts {
					stops[pair] = stops[pair] || v.Result == "Fail" || v.Result == "Error" && !v.Ignored
				}
			}
			matched += int64(len(stops))
			for pair, is := range stops {
				if is {
					stopped[pair]++
				}
			}
		}
		for _, p := range s.Policies {
			matched -= p.Matched
			if sum := p.Skipped + p.Passed + p.Failed + p.Errors + p.Unknown; sum != p.Matched {
				t.Fatalf("%q matched %d but its parts are %d", p.Policy, p.Matched, sum)
			}
			if p.Coverage.Matched() != p.Matched || p.Coverage.Unknown != p.Unknown {
				t.Fatalf("%q matched %d, unknown %d, but coverage is %+v", p.Policy, p.Matched, p.Unknown, p.Coverage)
			}
			unknown := int64(0)
			for _, b := range p.UnknownBecause {
				unknown += b.Count
			}
			if unknown != p.Unknown {
				t.Fatalf("%q has %d unknown but reasons for %d", p.Policy, p.Unknown, unknown)
			}
			if want := stopped[[2]string{p.Policy, p.Binding}]; p.WouldStop != want {
				t.Fatalf("%q would stop %d, want %d", p.Policy, p.WouldStop, want)
			}
		}
		if matched != 0 {
			t.Fatalf("%d matched requests too few are counted", matched)
		}
		if s.Requests != int64(len(records)) {
			t.Fatalf("%d requests, want %d", s.Requests, len(records))
		}
	})
}

func TestTableHoldsNoControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hostile := rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text") +
				rapid.SampledFrom([]string{"", "\x1b[31m", "\x1b]0;t\a", "\u202e", "\u009b2J", "\r", "\x1b"}).Draw(t, "sequence")
		})
		rec := &sink.Record{
			AuditID: hostile.Draw(t, "auditID"), Namespace: hostile.Draw(t, "namespace"), Name: hostile.Draw(t, "name"),
			User: sink.User{Username: hostile.Draw(t, "user")},
			Evaluations: []sink.Evaluation{
				{
					Policy: hostile.Draw(t, "policy"), Binding: hostile.Draw(t, "binding"), Result: "Fail",
					ValidationActions: []string{hostile.Draw(t, "action")},
					Verdicts:          []sink.Verdict{{Result: "Fail", Message: hostile.Draw(t, "message")}},
				},
				{Policy: "q", Result: "Unknown", Because: hostile.Draw(t, "because"), Unknown: []string{hostile.Draw(t, "attribute")}},
			},
		}
		s := summarize([]*sink.Record{rec}, report.Options{}, report.Totals{
			Skipped: map[string]int64{hostile.Draw(t, "reason"): 1},
			Refused: []string{hostile.Draw(t, "refusal")}, Warnings: []string{hostile.Draw(t, "warning")},
		})
		for _, wide := range []bool{false, true} {
			var out strings.Builder
			if err := report.WriteTable(&out, s, wide); err != nil {
				t.Fatal(err)
			}
			for _, r := range out.String() {
				if r != '\n' && !unicode.IsGraphic(r) {
					t.Fatalf("the table holds %q:\n%q", r, out.String())
				}
			}
		}
	})
}

func TestLimits(t *testing.T) {
	b := report.NewBuilder(report.Options{Top: 2, Names: 3, Objects: 4})
	for i := range 100 {
		name := string(rune('a' + i%10))
		b.Add(&sink.Record{
			Namespace: name, Name: name, User: sink.User{Username: name}, AuditID: name,
			Evaluations: []sink.Evaluation{{Policy: "p", Binding: "b", Result: "Fail", Verdicts: []sink.Verdict{{Result: "Fail", Message: name}}}},
		})
	}
	got := b.Summary(report.Totals{}).Policies[0].Stopped
	top := report.Top{
		Distinct: report.Distinct{Count: 3, AtLeast: true},
		Names:    []report.Count{{Name: "a", Count: 10}, {Name: "b", Count: 10}}, Others: 80,
	}
	if diff := cmp.Diff(top, got.Users); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(report.Distinct{Count: 4, AtLeast: true}, got.Objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if got.Messages.Others != 80 || len(got.Messages.Samples) != 2 || !got.Messages.Distinct.AtLeast {
		t.Errorf("messages: %+v", got.Messages)
	}
}

func BenchmarkAdd(b *testing.B) {
	records := readRecords(b)
	many := &sink.Record{Name: "n", AuditID: "a"}
	for i := range 50 {
		many.Evaluations = append(many.Evaluations, sink.Evaluation{Policy: string(rune('a' + i)), Binding: "b", Result: "Pass", Evidence: "Exact", ValidationActions: []string{"Audit"}})
	}
	b.Run("mixed", func(b *testing.B) {
		b.ReportAllocs()
		builder := report.NewBuilder(report.Options{})
		for i := 0; b.Loop(); i++ {
			builder.Add(records[i%len(records)])
		}
	})
	b.Run("50 passes", func(b *testing.B) {
		b.ReportAllocs()
		builder := report.NewBuilder(report.Options{})
		for b.Loop() {
			builder.Add(many)
		}
	})
	b.Run("all stopped, all different", func(b *testing.B) {
		b.ReportAllocs()
		builder := report.NewBuilder(report.Options{})
		rec := &sink.Record{Evaluations: []sink.Evaluation{{Policy: "p", Result: "Fail", Verdicts: []sink.Verdict{{Result: "Fail", Message: "m"}}}}}
		random := rand.New(rand.NewPCG(1, 2))
		for b.Loop() {
			rec.Name = string(rune(random.IntN(1 << 20)))
			builder.Add(rec)
		}
	})
}
