package enforcement_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/dashboards/report/enforcement"
	"github.com/vapshadow/vapshadow/dashboards/report/exception"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/sqlite"
)

var day = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// recording builds what a store holds of one binding, which is named b and watched for eight days.
type recording struct{ sink.Batch }

func record(binding string) *recording {
	r := &recording{}
	r.Moves = []sink.Move{{Source: "audit", Partition: "0", To: sink.Mark{Offset: 1}}}
	r.text("b", binding)
	return r
}

func (r *recording) text(name, text string) *recording {
	r.Policies = append(r.Policies, sink.PolicyText{Kind: "ValidatingAdmissionPolicyBinding", Name: name, Hash: "h", Text: text})
	return r
}

func (r *recording) count(namespace, result string, times int64) *recording {
	for n := range 9 {
		r.Rollups = append(r.Rollups, sink.Rollup{
			Minute: day.AddDate(0, 0, n), Policy: "p", Binding: "b", PolicyHash: "h", BindingHash: "h", Namespace: namespace, Result: result, Evidence: "Exact", Count: times,
		})
	}
	if result == "Fail" {
		r.Failures = append(r.Failures, sink.Failure{
			Place:  sink.Place{AuditID: namespace, StageTimestamp: day},
			Policy: "p", Binding: "b", Namespace: namespace, Kind: "Pod", Name: "web", Result: "Fail",
		})
	}
	return r
}

func (r *recording) store(t *testing.T) sink.Database {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.db")
	if _, err := sqlite.Migrate(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Commit(t.Context(), &r.Batch); err != nil {
		t.Fatal(err)
	}
	return s
}

func (r *recording) plan(t *testing.T, c sink.Criteria) *enforcement.Plan {
	t.Helper()
	plan, err := enforcement.Make(t.Context(), r.store(t), sink.Filter{}, c)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func written(t *testing.T, p *enforcement.Plan) string {
	t.Helper()
	var out bytes.Buffer
	if err := p.Write(&out, "vapshadow v1.2.3", "It rests on all that is stored."); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const simple = `{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Warn","Audit"]}}`

func TestSteps(t *testing.T) {
	for _, test := range []struct {
		name       string
		r          *recording
		criteria   sink.Criteria
		clean      []string
		deny, rest bool
		why        string
	}{
		{name: "ready", r: record(simple).count("a", "Pass", 9).count("", "Pass", 1), deny: true, why: "ready"},
		{name: "split", r: record(simple).count("a", "Pass", 9).count("c", "Fail", 1).count("d", "Pass", 1), deny: true, rest: true,
			clean: []string{"a", "d"}, why: "would break 1 workload"},
		{name: "cluster-scoped objects are clean", r: record(simple).count("a", "Pass", 9).count("c", "Fail", 1).count("", "Pass", 1),
			deny: true, rest: true, clean: []string{"a"}, why: "would break 1 workload"},
		{name: "a cluster-scoped object fails", r: record(simple).count("a", "Pass", 9).count("", "Fail", 1),
			why: "would break 1 workload; not split, since a binding that is narrowed to namespaces holds for cluster-scoped objects too, and of those: would break 1 workload"},
		{name: "cluster-scoped objects are not known", r: record(simple).count("a", "Pass", 9).count("c", "Fail", 1).count("", "Unknown", 1),
			why: "would break 1 workload; not split, since a binding that is narrowed to namespaces holds for cluster-scoped objects too, and of those: " +
				"not enough evidence: 0 of 9 decided (0.0%), 99% are asked for"},
		{name: "what is unknown is not clean", r: record(simple).count("a", "Unknown", 9).count("c", "Fail", 1),
			why: "would break 1 workload; no namespace is clean"},
		{name: "few days", r: record(simple).count("a", "Pass", 9).count("c", "Fail", 1), criteria: sink.Criteria{Days: 30},
			why: "would break 1 workload; not split, since there is not enough evidence: 8.0 of 30 days observed"},
		{name: "it denies already", r: record(strings.Replace(simple, `"Warn"`, `"Deny"`, 1)).count("a", "Fail", 1),
			why: "would break 1 workload; it denies already"},
		{name: "nothing matched", r: record(simple), why: "not enough evidence: nothing matched"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := test.r.plan(t, test.criteria)
			if len(p.Steps) != 1 {
				t.Fatalf("%d steps, want 1", len(p.Steps))
			}
			s := p.Steps[0]
			var clean []string
			for _, n := range s.Clean {
				clean = append(clean, n.Namespace)
			}
			if s.Why != test.why || (s.Deny != nil) != test.deny || (s.Rest != nil) != test.rest || !slices.Equal(clean, test.clean) {
				t.Errorf("%q, clean %q, denies %t, rest %t", s.Why, clean, s.Deny != nil, s.Rest != nil)
			}
			if !strings.Contains(written(t, p), "# policy p, binding b: "+test.why) {
				t.Error("the reason is not written")
			}
		})
	}
}

// TestSplitKeepsTheBinding: what the binding says holds in both parts.
func TestSplitKeepsTheBinding(t *testing.T) {
	p := record(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"b"},
		"spec":{"policyName":"p","paramRef":{"name":"limits","parameterNotFoundAction":"Deny"},"validationActions":["Warn","Audit"],
		"matchResources":{"objectSelector":{"matchLabels":{"a":"b"}},"namespaceSelector":{"matchLabels":{"env":"prod"},
		"matchExpressions":[{"key":"team","operator":"Exists"}]}}}}`).
		text("b-enforced", simple).
		count("a", "Pass", 9).count("c", "Fail", 1).plan(t, sink.Criteria{})
	index := slices.IndexFunc(p.Steps, func(s enforcement.Step) bool { return s.Deny != nil })
	if index < 0 {
		t.Fatal("nothing is enforced")
	}
	want := `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: b-enforced-2
spec:
  matchResources:
    namespaceSelector:
      matchExpressions:
      - key: team
        operator: Exists
      - key: kubernetes.io/metadata.name
        operator: In
        values:
        - a
      matchLabels:
        env: prod
    objectSelector:
      matchLabels:
        a: b
  paramRef:
    name: limits
    parameterNotFoundAction: Deny
  policyName: p
  validationActions:
  - Deny
`
	rest := strings.NewReplacer("b-enforced-2", "b", "operator: In\n", "operator: NotIn\n", "  - Deny\n", "  - Warn\n  - Audit\n").Replace(want)
	for _, test := range []struct {
		object map[string]any
		want   string
	}{{p.Steps[index].Deny, want}, {p.Steps[index].Rest, rest}} {
		got, err := yaml.Marshal(test.object)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("(- expected, + found):\n%s", diff)
		}
	}
}

// TestHostileNamesStayInComments: no name from a log becomes a part of the YAML.
func TestHostileNamesStayInComments(t *testing.T) {
	hostile := "x\n---\nkind: ClusterRoleBinding\n# \u2028\u0085kind: Secret"
	p := record(simple).count("a", "Pass", 9).count(hostile, "Fail", 1).plan(t, sink.Criteria{})
	text := written(t, p)
	if !strings.Contains(text, "ClusterRoleBinding") {
		t.Fatal("the hostile name is not there")
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, "ClusterRoleBinding") && !strings.HasPrefix(line, "# ") || strings.ContainsAny(line, "\u2028\u0085") {
			t.Errorf("a line that is no comment: %q", line)
		}
	}
}

// TestTeamsAreTold: whoever reads a plan sees whose each namespace is.
func TestTeamsAreTold(t *testing.T) {
	r := record(simple).count("a", "Pass", 9).count("b", "Fail", 1).count("c", "Pass", 9)
	for i := range r.Rollups {
		r.Rollups[i].Team = map[string]string{"a": "red", "b": "blue"}[r.Rollups[i].Namespace]
	}
	text := written(t, r.plan(t, sink.Criteria{}))
	for _, want := range []string{"#     a of team red: ", "#     b of team blue: would break", "#     c: "} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan does not say %q:\n%s", want, text)
		}
	}
}

// TestRepeatsAreTold: the evidence above a binding says how much of what fails only repeats.
func TestRepeatsAreTold(t *testing.T) {
	r := record(simple).count("a", "Pass", 9).count("b", "Fail", 1).count("c", "Fail", 1)
	r.Failures[0].Repeats = true
	text := written(t, r.plan(t, sink.Criteria{}))
	for _, want := range []string{"2 would fail (1 of them repeat)", "b: would break 1 workload (9 matched, 100% decided, 1 would fail (1 of them repeat))", "9 matched, 100% decided, 1 would fail)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan does not say %q:\n%s", want, text)
		}
	}
}

func TestPlanIsOfOneCluster(t *testing.T) {
	r := record(simple).count("a", "Pass", 9)
	r.Rollups[0].Cluster = "other"
	if _, err := enforcement.Make(t.Context(), r.store(t), sink.Filter{}, sink.Criteria{}); err == nil || !strings.Contains(err.Error(), "--cluster") {
		t.Errorf("a plan of two clusters: %v", err)
	}
}

// TestExceptions: a plan tells of exceptions, and is the same with them.
func TestExceptions(t *testing.T) {
	r := record(simple).count("a", "Pass", 9).count("c", "Fail", 1)
	until := func(y int) time.Time { return time.Date(y, 1, 31, 0, 0, 0, 0, time.UTC) }
	list := exception.List{
		{Policy: "p", Namespace: "c", Kind: "Pod", Name: "web", Reason: "waits\nfor: version 3", ApprovedBy: "jane", Until: until(2027)},
		{Policy: "p", Binding: "b", Namespace: "a", Reason: "r", ApprovedBy: "joe", Until: until(2025)},
		{Policy: "p", Binding: "other", Namespace: "c", Reason: "r", ApprovedBy: "joe", Until: until(2027)},
	}
	plan := r.plan(t, sink.Criteria{})
	before := written(t, plan)
	plan.Note(list, sink.Filter{})
	after := written(t, plan)
	for _, want := range []string{
		`c: Pod web is excepted until 2027-01-31 by jane: waits\nfor: version 3`, "#     the namespace is not enforced all the same: the apiserver knows no exceptions",
		"#   policy p, all of namespace a: its exception expired after 2025-01-31 by joe: r", "#     nothing that it is about was seen to fail, and the binding denies there",
		"# An exception is about no binding of this plan: policy p, all of namespace c is excepted until 2027-01-31 by joe: r",
	} {
		if !strings.Contains(after, want) {
			t.Errorf("the plan does not say %q:\n%s", want, after)
		}
	}
	bare := func(text string) string {
		return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.HasPrefix(line, "#") }), "\n")
	}
	if bare(before) != bare(after) || before == after {
		t.Errorf("exceptions change the plan:\n%s", after)
	}
	plan.Note(list, sink.Filter{Until: until(2029)})
	if !strings.Contains(written(t, plan), "Pod web: its exception expired after 2027-01-31") {
		t.Error("an exception does not expire with the end of the period")
	}
	ready := record(simple).count("a", "Pass", 9).plan(t, sink.Criteria{})
	ready.Note(list[1:2], sink.Filter{})
	if !strings.Contains(written(t, ready), "nothing that it is about was seen to fail") {
		t.Error("an exception for nothing is not told")
	}
}
