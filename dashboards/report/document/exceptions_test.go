package document_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/dashboards/report/document"
	"github.com/vapshadow/vapshadow/dashboards/report/exception"
	"github.com/vapshadow/vapshadow/sink"
)

// TestExceptionsChangeNoVerdict: with exceptions, nothing else of the document is otherwise.
func TestExceptionsChangeNoVerdict(t *testing.T) {
	s := store(t, sample())
	without, with := build(t, s, sink.Filter{}), buildWith(t, s, sink.Filter{}, accepted())
	if without.Exceptions != nil || without.Bindings[0].Exceptions != nil {
		t.Error("exceptions that nobody gave are told")
	}
	if without.Digest == with.Digest {
		t.Error("the digest does not cover the exceptions")
	}
	with.Exceptions, with.Digest, without.Digest = nil, "", ""
	for i := range with.Bindings {
		b := &with.Bindings[i]
		b.Exceptions = nil
		for j := range b.Failing {
			b.Failing[j].Exception = nil
		}
	}
	if diff := cmp.Diff(without, with); diff != "" {
		t.Errorf("(- without exceptions, + with them):\n%s", diff)
	}
}

// TestExceptionsAreCounted as of the end of the data, of the period, or of a moment.
func TestExceptionsAreCounted(t *testing.T) {
	s := store(t, sample())
	for _, test := range []struct {
		name       string
		filter     sink.Filter
		now, asOf  time.Time
		of         document.Excepted
		inForce    []int64
		expired, n int
		elsewhere  int
	}{
		{"the end of the data", sink.Filter{}, time.Time{}, day.AddDate(0, 0, 8).Add(time.Minute), document.Excepted{Excepted: 1, Expired: 1, NotExcepted: 2}, []int64{1, 1, 0}, 1, 3, 0},
		{"the end of the period", sink.Filter{Until: day.AddDate(0, 0, 1)}, day.AddDate(9, 0, 0), day.AddDate(0, 0, 1),
			document.Excepted{Excepted: 2, NotExcepted: 1}, []int64{1, 1, 0}, 0, 3, 0},
		{"now", sink.Filter{}, day.AddDate(0, 6, 0), day.AddDate(0, 6, 0), document.Excepted{Expired: 2, NotExcepted: 2}, []int64{1, 1, 0}, 2, 3, 0},
		{"another policy", sink.Filter{Policy: "blocks"}, time.Time{}, day.AddDate(0, 0, 8).Add(time.Minute), document.Excepted{NotExcepted: 1}, nil, 0, 0, 3},
		{"no data", sink.Filter{Cluster: "none"}, time.Time{}, time.Time{}, document.Excepted{}, []int64{0, 0, 0}, 0, 3, 0},
	} {
		d, err := document.Build(t.Context(), s, document.Options{Filter: test.filter, Criteria: sink.Criteria{Now: test.now}, Exceptions: accepted()})
		if err != nil {
			t.Fatal(err)
		}
		x := d.Exceptions
		if diff := cmp.Diff(test.of, x.Excepted); diff != "" || !x.AsOf.Equal(test.asOf) || x.Elsewhere != test.elsewhere {
			t.Errorf("%s: as of %s, %d elsewhere (- expected, + found):\n%s", test.name, x.AsOf, x.Elsewhere, diff)
		}
		var covered []int64
		expired := 0
		for _, e := range x.List {
			covered = append(covered, e.Workloads)
			if e.Expired {
				expired++
			}
		}
		if diff := cmp.Diff(test.inForce, covered); diff != "" || expired != test.expired || len(covered) != test.n {
			t.Errorf("%s: %d of %d have expired; the workloads of each:\n%s", test.name, expired, len(covered), diff)
		}
	}
}

// TestExceptionsInEachForm: beside the workload, and in the list.
func TestExceptionsInEachForm(t *testing.T) {
	d := buildWith(t, store(t, sample()), sink.Filter{}, accepted())
	for _, format := range document.Formats {
		got := strings.Join(strings.Fields(strings.NewReplacer(`\_`, "_", "&#39;", "'").Replace(write(t, format, d))), " ")
		says := []string{"matches nothing that fails", "waits for version 3", "jane", "2026-04-14", "leaves out DELETE of all resources in the core group and apps, version v1",
			"leaves out requests of which the condition no-nodes does not hold", "kubernetes.io/metadata.name is none of kube-system"}
		if format == "json" {
			says = says[1:]
		}
		if format == "html" || format == "markdown" || format == "junit" || format == "openreports" {
			says = append(says, "excepted until 2026-04-14 by jane: waits for version 3", "exception expired after 2026-03-16 by ")
		}
		for _, want := range says {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not say %q", format, want)
			}
		}
	}
	none := write(t, "table", buildWith(t, store(t, sample()), sink.Filter{}, exception.List{}))
	if !strings.Contains(none, "Failing workloads of all bindings: 0 excepted, 0 with an exception that has expired, 4 not excepted") {
		t.Errorf("an empty list of exceptions is not told:\n%s", none)
	}
}

// TestLeavesOut puts each way of leaving something out into words.
func TestLeavesOut(t *testing.T) {
	for _, test := range []struct {
		policy, binding string
		want            []document.LeftOut
	}{
		{`{"spec":{"matchConstraints":{"resourceRules":[{"resources":["pods"]}],"namespaceSelector":{},"objectSelector":{}}}}`, `{"spec":{}}`, nil},
		{`{"spec":{"matchConstraints":{"excludeResourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["leases","pods/status"],"resourceNames":["a","b"],"scope":"Namespaced"}]}}}`, "",
			[]document.LeftOut{{By: "policy", Field: "matchConstraints.excludeResourceRules",
				Text: "leaves out every operation of leases and pods/status in all groups, version any, named a or b, where it is in a namespace"}}},
		{"", `{"spec":{"matchResources":{"namespaceSelector":{"matchLabels":{"b":"2","a":"1"},"matchExpressions":[{"key":"c","operator":"In","values":["x","y"]},
			{"key":"d","operator":"Exists"},{"key":"e","operator":"DoesNotExist"}]}}}}`,
			[]document.LeftOut{{By: "binding", Field: "matchResources.namespaceSelector",
				Text: `leaves out namespaces, and all that is in them, unless the label a is "1" and the label b is "2" and the label c is one of x, y and there is a label d and there is no label e`}}},
		{`no JSON`, `{"spec":{"matchResources":7}}`, []document.LeftOut{
			{By: "policy", Text: "has a text that cannot be read, so that it is not known what it leaves out"},
			{By: "binding", Text: "has a text that cannot be read, so that it is not known what it leaves out"},
		}},
	} {
		b := sample()
		for i := range b.Policies {
			switch p := &b.Policies[i]; p.Name {
			case "clean":
				p.Text = test.policy
			case "clean-b":
				p.Text = test.binding
			}
		}
		got := build(t, store(t, b), sink.Filter{Policy: "clean"}).Bindings[0].LeavesOut
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("(- expected, + found):\n%s", diff)
		}
	}
}

// TestExceptionsOfWhatIsNotListed: what is beyond the list is counted all the same.
func TestExceptionsOfWhatIsNotListed(t *testing.T) {
	b := sample()
	for i := range 1200 {
		f := b.Failures[0]
		f.AuditID, f.Namespace, f.OwnerName = fmt.Sprint("more-", i), fmt.Sprint("team-", i%2), fmt.Sprint("w-", i)
		b.Failures = append(b.Failures, f)
	}
	d := buildWith(t, store(t, b), sink.Filter{Policy: "breaks"}, exception.List{
		{Policy: "breaks", Namespace: "team-1", Reason: "r", ApprovedBy: "a", Until: day.AddDate(1, 0, 0)},
	})
	got, want := d.Bindings[0], document.Excepted{Excepted: 600, NotExcepted: 603}
	if len(got.Failing) != 1000 || got.Workloads != 1203 || *got.Exceptions != want || d.Exceptions.List[0].Workloads != 600 {
		t.Errorf("%d of %d workloads are listed, and excepted %+v, %+v", len(got.Failing), got.Workloads, *got.Exceptions, d.Exceptions.List)
	}
}
