package document_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/vapshadow/vapshadow/dashboards/report/document"
	"github.com/vapshadow/vapshadow/dashboards/report/exception"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/sqlite"
)

var update = flag.Bool("update", false, "write the golden files anew")

// hostile is a name that would be markup, a formula or another line, were it not escaped.
const hostile = "=cmd|' /C calc'!A0</td><script>alert(1)</script>\n---\n@team \u202e`x` | ]]> \"&"

var day = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// sample has a binding for each verdict, and hostile texts wherever a log could bring one.
func sample() *sink.Batch {
	b := &sink.Batch{Moves: []sink.Move{{Source: "audit", Partition: "0", To: sink.Mark{Offset: 1}}}}
	last := day.AddDate(0, 0, 8)
	count := func(policy, result string, at time.Time, n int64) {
		b.Rollups = append(b.Rollups, sink.Rollup{
			Minute: at, Policy: policy, Binding: policy + "-b", PolicyHash: "h1", BindingHash: "h2", Namespace: "shop",
			Result: result, Evidence: "Exact", Count: n,
		})
	}
	for _, n := range []int{0, 1, 2, 4, 5, 6, 7, 8} { // of the fourth day there is nothing
		count("clean", "Pass", day.AddDate(0, 0, n), 20)
	}
	count("breaks", "Fail", day, 3)
	count("breaks", "Unknown", last, 1)
	count("blocks", "Error", last, 1)
	fail := func(policy, id, namespace, name, message string, at time.Time) *sink.Failure {
		b.Failures = append(b.Failures, sink.Failure{
			Place:  sink.Place{AuditID: id, StageTimestamp: at.Add(time.Second)},
			Policy: policy, Binding: policy + "-b", PolicyHash: "h1", BindingHash: "h2", Namespace: namespace, Kind: "Pod", Name: name,
			OwnerKind: "Deployment", OwnerName: name, Username: "jane", Result: "Fail", Message: message, Evidence: "Exact",
		})
		return &b.Failures[len(b.Failures)-1]
	}
	fail("breaks", "id-1", "shop", "web", "too many replicas", day)
	fail("breaks", "id-1", "shop", "web", "no owner", day).ExpressionIndex = 1
	b.Failures[0].Repeats = true // and the other failure of the request does not
	fail("breaks", "id-2", "shop", "web", "too many replicas", last).Repeats = true
	fail("breaks", hostile, hostile, hostile, hostile, day).Username = "system:node:" + hostile
	fail("breaks", "id-3", "", "node-1", "too many replicas", day).Repeats = true
	ignored := fail("breaks", "id-4", "shop", "ignored", "let through", day)
	ignored.Result, ignored.Ignored = "Error", true
	blocks := fail("blocks", "id-5", "shop", "web", "no such key: a", last)
	blocks.Result, blocks.ExpressionIndex, blocks.BlocksAnyway = "Error", -1, true
	for _, line := range []sink.LedgerLine{
		{Outcome: sink.Ingested, Count: 20}, {Outcome: sink.Evaluated, Count: 10}, {Outcome: sink.Requests, Count: 12},
		{Outcome: sink.NotAdmission, Reason: "ReadOnly", Count: 6}, {Outcome: sink.Skipped, Reason: "OtherLog", Count: 1},
		{Outcome: sink.DeadLettered, Reason: "InvalidJSON", Count: 2},
	} {
		line.Source = "audit"
		b.Ledger = append(b.Ledger, line)
	}
	for _, name := range []string{"clean", "breaks", "blocks", "silent"} {
		b.Policies = append(b.Policies,
			sink.PolicyText{Kind: "ValidatingAdmissionPolicy", Name: name, Hash: "h1", Text: `{"kind":"ValidatingAdmissionPolicy","metadata":{"name":"` + name + `"},"spec":{"validations":[{"expression":"'</pre><script>' != ''"}]}}`},
			sink.PolicyText{Kind: "ValidatingAdmissionPolicyBinding", Name: name + "-b", Hash: "h2", Text: `{"spec":{"policyName":"` + name + `","validationActions":["Audit"]}}`},
		)
	}
	for i := range b.Policies {
		switch p := &b.Policies[i]; p.Name {
		case "breaks":
			p.Text = strings.Replace(p.Text, `{"validations"`, `{"matchConstraints":{"excludeResourceRules":[{"apiGroups":["","apps"],"apiVersions":["v1"],"operations":["DELETE"],
				"resources":["*"]}]},"matchConditions":[{"name":"no-nodes","expression":"!('system:nodes' in request.userInfo.groups) && '</pre><script>' != '@team'"}],"validations"`, 1)
		case "breaks-b":
			p.Text = strings.Replace(p.Text, `{"policyName"`, `{"matchResources":{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name",
				"operator":"NotIn","values":["kube-system"]}]},"objectSelector":{"matchLabels":{"tier":"web","app":"shop"}}},"policyName"`, 1)
		}
	}
	return b
}

// accepted are exceptions in force, expired, hostile, for nothing, and of another policy.
func accepted() exception.List {
	return exception.List{
		{Policy: "breaks", Namespace: "shop", Kind: "Deployment", Name: "web", Reason: "waits for version 3", ApprovedBy: "jane", Until: day.AddDate(0, 1, 0).Truncate(24 * time.Hour), Line: 2},
		{Policy: "breaks", Binding: "breaks-b", Namespace: hostile, Reason: hostile, ApprovedBy: hostile, Until: day.AddDate(0, 0, 2).Truncate(24 * time.Hour), Line: 3},
		{Policy: "breaks", Namespace: "gone", Reason: "r", ApprovedBy: "joe", Until: day.AddDate(1, 0, 0).Truncate(24 * time.Hour), Line: 4},
	}
}

func store(t *testing.T, b *sink.Batch) sink.Database {
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
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return s
}

// verified is a store whose log was compared with the apiserver's own decisions.
func verified(t *testing.T, b *sink.Batch) sink.Database {
	t.Helper()
	s := store(t, b)
	run := sink.AgreementRun{Run: "r", Log: "l", FirstEvent: day, LastEvent: day.Add(time.Hour), VerifiedAt: day}
	rows := []sink.Agreement{
		{Policy: "breaks", Binding: "breaks-b", Outcome: sink.Agreed, Reason: sink.BothFail, Count: 3},
		{Policy: "breaks", Binding: "breaks-b", Outcome: sink.Agreed, Reason: sink.BothPass, Count: 5},
		{Policy: "breaks", Binding: "breaks-b", Outcome: sink.Undecided, Reason: "NoHistory", Count: 2},
		{Policy: "breaks", Binding: "breaks-b", Outcome: sink.Disagreed, Reason: "OtherMessage", Count: 1, AuditIDs: []string{"id-1"}},
		{Policy: hostile, Annotation: hostile, Outcome: sink.Disagreed, Reason: hostile, Count: 1, AuditIDs: []string{hostile}},
	}
	if err := s.SaveAgreement(t.Context(), run, rows); err != nil {
		t.Fatal(err)
	}
	return s
}

func build(t *testing.T, r sink.Reader, f sink.Filter) *document.Document {
	t.Helper()
	return buildWith(t, r, f, nil)
}

func buildWith(t *testing.T, r sink.Reader, f sink.Filter, exceptions exception.List) *document.Document {
	t.Helper()
	d, err := document.Build(t.Context(), r, document.Options{
		Filter: f, Exceptions: exceptions, Versions: document.Versions{Vapshadow: "v1.2.3", Apiserver: "v0.37.2", CEL: "v0.29.2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t *testing.T, format string, d *document.Document) string {
	t.Helper()
	var out bytes.Buffer
	if err := document.Write(&out, format, d); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return out.String()
}

// TestGolden: each form says what it said before, and says it again when it is made anew from rows in another order.
func TestGolden(t *testing.T) {
	one := sample()
	other := sample()
	slices.Reverse(other.Failures)
	slices.Reverse(other.Rollups)
	slices.Reverse(other.Ledger)
	slices.Reverse(other.Policies)
	d, again := buildWith(t, verified(t, one), sink.Filter{}, accepted()), buildWith(t, verified(t, other), sink.Filter{}, accepted())
	for _, format := range document.Formats {
		got := write(t, format, d)
		file := filepath.Join("testdata", "sample."+format)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (- %s, + written):\n%s", format, file, diff)
		}
		if got != write(t, format, again) {
			t.Errorf("%s: the same rows in another order give another report", format)
		}
		for _, fact := range []string{d.Digest, "v0.37.2", "h1", "id-1", "days without any data: 1"} {
			if fact[0] == 'd' && format == "json" {
				fact = `"silentDays": 1`
			}
			if format != "table" && !strings.Contains(strings.Join(strings.Fields(got), " "), fact) {
				t.Errorf("%s does not say %s", format, fact)
			}
		}
	}
}

func TestDigest(t *testing.T) {
	d := build(t, store(t, sample()), sink.Filter{})
	said := d.Digest
	d.Digest = ""
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(text); said != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Errorf("the digest is %s, and that of the content sha256:%x", said, sum)
	}
	changed := sample()
	changed.Failures[0].Message += "!"
	if other := build(t, store(t, changed), sink.Filter{}); other.Digest == said {
		t.Error("another message has the same digest")
	}
}

// TestSchema holds the JSON to its published schema, and the schema to refusing what is none.
func TestSchema(t *testing.T) {
	text, err := os.ReadFile("schema/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema := &spec.Schema{}
	if err := json.Unmarshal(text, schema); err != nil {
		t.Fatal(err)
	}
	check := func(text string) error {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return err
		}
		return validate.NewSchemaValidator(schema, nil, "", strfmt.Default).Validate(v).AsError()
	}
	s := verified(t, sample())
	for name, f := range map[string]sink.Filter{"all": {}, "a period": {Since: day, Until: day.AddDate(0, 0, 1)}, "nothing": {Cluster: "none"}} {
		if err := check(write(t, "json", build(t, s, f))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := check(write(t, "json", buildWith(t, s, f, accepted()))); err != nil {
			t.Errorf("%s, with exceptions: %v", name, err)
		}
	}
	good := write(t, "json", buildWith(t, s, sink.Filter{}, accepted()))
	for _, bad := range [][2]string{
		{`"digest"`, `"checksum"`}, {`"WouldBreak"`, `"WouldHurt"`}, {`"evaluated": 10`, `"evaluated": "10"`}, {`"sentence"`, `"phrase"`},
		{`"approvedBy"`, `"author"`}, {`"by": "policy"`, `"by": "somebody"`}, {`"until": "2026`, `"until": "26`}, {`"kind": "OtherMessage"`, `"kind": ""`},
	} {
		if check(strings.Replace(good, bad[0], bad[1], 1)) == nil {
			t.Errorf("the schema takes %s for %s", bad[1], bad[0])
		}
	}
}

// TestTeam: a document of one team tells of its requests, and says so.
func TestTeam(t *testing.T) {
	b := sample()
	for i := range b.Rollups {
		if b.Rollups[i].Policy == "clean" {
			b.Rollups[i].Team = "payments"
		}
	}
	for i := range b.Failures {
		if b.Failures[i].AuditID == "id-2" {
			b.Failures[i].Team = "payments"
		}
	}
	d := build(t, store(t, b), sink.Filter{Team: "payments"})
	got := map[string][2]int64{}
	for _, one := range d.Bindings {
		got[one.Policy] = [2]int64{one.Matched, one.WouldFail}
	}
	if diff := cmp.Diff(map[string][2]int64{"clean": {160, 0}, "breaks": {0, 1}, "blocks": {}, "silent": {}}, got); diff != "" {
		t.Errorf("matched, and would fail (- expected, + found):\n%s", diff)
	}
	if failing := d.Bindings[0].Failing; len(failing) != 1 || failing[0].Team != "payments" || failing[0].Requests != 1 {
		t.Errorf("failing: %+v", failing)
	}
	if text := write(t, "table", d); !strings.Contains(text, "in all that is stored of the team payments") {
		t.Errorf("the document does not say that it is about one team:\n%s", text)
	}
	if text := write(t, "csv", d); !strings.Contains(text, ",1,,payments\n") {
		t.Errorf("the CSV does not name the team:\n%s", text)
	}
}

func TestUnknownFormat(t *testing.T) {
	if err := document.Write(&bytes.Buffer{}, "docx", &document.Document{}); err == nil {
		t.Error("an unknown form is written")
	}
}

// TestCounts: what is said of the workloads agrees with the readiness.
func TestCounts(t *testing.T) {
	d := build(t, store(t, sample()), sink.Filter{Policy: "breaks"})
	if len(d.Bindings) != 1 {
		t.Fatalf("%d bindings, want 1", len(d.Bindings))
	}
	b := d.Bindings[0]
	if b.Workloads != int64(len(b.Failing)) || b.WouldFail != 4 || b.FailingNow != 1 || b.Repeats != 2 || b.NewWorkloads != 2 {
		t.Errorf("%d workloads and %d listed, %d would fail, %d now, %d repeat, %d are new", b.Workloads, len(b.Failing), b.WouldFail,
			b.FailingNow, b.Repeats, b.NewWorkloads)
	}
	web := b.Failing[0]
	want := document.Workload{
		Namespace: "shop", Kind: "Deployment", Name: "web", Requests: 2, Repeats: 1, Last: day.AddDate(0, 0, 8).Add(time.Second), Now: true,
		Result: "Fail", Message: "too many replicas", AuditIDs: []string{"id-1", "id-2"},
	}
	if diff := cmp.Diff(want, web); diff != "" {
		t.Errorf("(- expected, + found):\n%s", diff)
	}
	for _, w := range b.Failing[1:] {
		if (w.Repeats == 1) != (w.Name == "node-1") {
			t.Errorf("%s repeats %d times", w.Name, w.Repeats)
		}
		if w.Now {
			t.Errorf("%s fails now, eight days later", w.Name)
		}
	}
}
