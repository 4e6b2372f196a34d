package exception_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/dashboards/report/exception"
)

const good = `exceptions:
# The shop has until spring.
- policy: limits
  binding: limits-everywhere
  cluster: prod
  namespace: shop
  workload: {kind: Deployment, name: web}
  reason: waits for version 3
  approvedBy: jane@example.com
  until: 2027-03-31
- {policy: limits, namespace: legacy, reason: goes away, approvedBy: joe, until: "2026-12-31"}
- {policy: limits, namespace: "", workload: {kind: Node, name: "1"}, reason: r, approvedBy: a, until: 2026-01-01}
`

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "exceptions.yaml")
	if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := exception.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	want := exception.List{
		{Policy: "limits", Binding: "limits-everywhere", Cluster: "prod", Namespace: "shop", Kind: "Deployment", Name: "web",
			Reason: "waits for version 3", ApprovedBy: "jane@example.com", Until: date(2027, 3, 31), Line: 3},
		{Policy: "limits", Namespace: "legacy", Reason: "goes away", ApprovedBy: "joe", Until: date(2026, 12, 31), Line: 11},
		{Policy: "limits", Kind: "Node", Name: "1", Reason: "r", ApprovedBy: "a", Until: date(2026, 1, 1), Line: 12},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- expected, + found):\n%s", diff)
	}
	if _, err := exception.Load(file + "-none"); err == nil {
		t.Error("a file that is not there is read")
	}
}

// TestMistakes: each mistake is told with its line and what to do, and all of them at once.
func TestMistakes(t *testing.T) {
	const rest = "policy: p, namespace: n, reason: r, approvedBy: a, until: 2027-01-01"
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"empty":           {"", []string{"f:1: the file is empty"}},
		"only comments":   {"# none\n", []string{"f:1: the file"}},
		"a list":          {"- a\n", []string{"f:1: the file has to hold a list named exceptions"}},
		"another name":    {"exemptions: []\n", []string{`f:1: the field "exemptions" is not known`, "f:1: there is no list named exceptions"}},
		"no list":         {"\nexceptions: {}\n", []string{"f:2: exceptions has to be a list"}},
		"two documents":   {"exceptions: []\n---\nexceptions: []\n", []string{"more than one YAML document"}},
		"no YAML":         {"exceptions:\n- policy: p: q\n", []string{"f:2: this is no YAML: mapping values are not allowed"}},
		"a tab":           {"exceptions:\n\t- x", []string{"f:2: this is no YAML"}},
		"no map":          {"exceptions:\n- p\n", []string{"f:2: an exception has to be a map of fields"}},
		"an alias":        {"exceptions:\n- &a {" + rest + "}\n- *a\n", []string{"f:3: an exception has to be a map of fields"}},
		"all is missing":  {"exceptions:\n- {}\n", []string{"f:2: policy is missing", "f:2: reason is missing", "f:2: approvedBy is missing", "f:2: until is missing: an exception has a last day", "f:2: namespace is missing"}},
		"unknown field":   {"exceptions:\n- {" + rest + ",\n   until_: x}\n", []string{`f:3: the field "until_" is not known`}},
		"twice":           {"exceptions:\n- {" + rest + ",\n   reason: x}\n", []string{"f:3: the field reason is there twice"}},
		"never ends":      {"exceptions:\n- {policy: p, namespace: n, reason: r, approvedBy: a, until: never}\n", []string{`f:2: until has to be a day such as 2027-03-31, not "never"`}},
		"no such day":     {"exceptions:\n- {policy: p, namespace: n, reason: r, approvedBy: a, until: 2027-02-30}\n", []string{"f:2: until has to be a day"}},
		"a time":          {"exceptions:\n- {policy: p, namespace: n, reason: r, approvedBy: a, until: 2027-02-03T00:00:00Z}\n", []string{"f:2: until has to be a day"}},
		"a number":        {"exceptions:\n- {policy: 7, namespace: n, reason: r, approvedBy: a, until: 2027-01-01}\n", []string{"f:2: policy has to be text: put it in quotes"}},
		"blank reason":    {"exceptions:\n- {policy: p, namespace: n, reason: ' ', approvedBy: a, until: 2027-01-01}\n", []string{"f:2: reason is empty: say why"}},
		"empty binding":   {"exceptions:\n- {" + rest + ", binding: ''}\n", []string{"f:2: binding is empty: leave the field out"}},
		"half a workload": {"exceptions:\n- {" + rest + ", workload: {kind: Deployment}}\n", []string{"f:2: name is missing"}},
		"workload, text":  {"exceptions:\n- {" + rest + ", workload: web}\n", []string{"f:2: workload has to be a map of kind and name"}},
		"every object":    {"exceptions:\n- {policy: p, namespace: '', reason: r, approvedBy: a, until: 2027-01-01}\n", []string{"f:2: namespace is empty, and no workload"}},
		"null namespace":  {"exceptions:\n- {policy: p, namespace: , reason: r, approvedBy: a, until: 2027-01-01}\n", []string{"f:2: namespace has to be text"}},
		"again":           {"exceptions:\n- {" + rest + "}\n- {policy: p, namespace: n, reason: other, approvedBy: b, until: 2028-01-01}\n", []string{"f:3: this is the exception of line 2 again"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := exception.Parse("f", []byte(test.text))
			if err == nil {
				t.Fatalf("it is read: %v", list)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if n := strings.Count(err.Error(), "f:"); n != len(test.want) && test.text != "" && name != "two documents" {
				t.Errorf("%d mistakes are told, want %d: %v", n, len(test.want), err)
			}
		})
	}
	for _, text := range []string{"exceptions: []\n", "exceptions:\n"} {
		if list, err := exception.Parse("f", []byte(text)); err != nil || list == nil || len(list) != 0 {
			t.Errorf("a list that has become empty: %v, %v", list, err)
		}
	}
}

func TestCovers(t *testing.T) {
	web := exception.Exception{Policy: "p", Namespace: "shop", Kind: "Deployment", Name: "web"}
	whole := exception.Exception{Policy: "p", Binding: "b", Cluster: "prod", Namespace: "shop"}
	for _, test := range []struct {
		e                                               exception.Exception
		cluster, policy, binding, namespace, kind, name string
		want                                            bool
	}{
		{web, "prod", "p", "b", "shop", "Deployment", "web", true},
		{web, "", "p", "", "shop", "Deployment", "web", true},
		{web, "prod", "q", "b", "shop", "Deployment", "web", false},
		{web, "prod", "p", "b", "shop", "StatefulSet", "web", false},
		{web, "prod", "p", "b", "shop", "Deployment", "web2", false},
		{web, "prod", "p", "b", "shop2", "Deployment", "web", false},
		{whole, "prod", "p", "b", "shop", "Deployment", "any", true},
		{whole, "test", "p", "b", "shop", "Deployment", "any", false},
		{whole, "prod", "p", "c", "shop", "Deployment", "any", false},
		{whole, "prod", "p", "b", "", "Node", "any", false},
	} {
		if got := test.e.Covers(test.cluster, test.policy, test.binding, test.namespace, test.kind, test.name); got != test.want {
			t.Errorf("%+v covers %+v: %t", test.e, test, got)
		}
	}
	if !whole.Concerns("", "p", "") || whole.Concerns("test", "", "") || !web.Concerns("test", "p", "other") || web.Concerns("", "q", "") {
		t.Error("what an exception concerns is wrong")
	}
}

func TestExpired(t *testing.T) {
	e := exception.Exception{Until: date(2027, 3, 31)}
	for _, test := range []struct {
		asOf time.Time
		want bool
	}{
		{time.Time{}, false}, {date(2027, 3, 31), false}, {date(2027, 3, 31).Add(23 * time.Hour), false},
		{date(2027, 4, 1), false}, // a period up to, and without, this moment ends with the last day
		{date(2027, 4, 1).Add(time.Minute), true},
	} {
		if got := e.Expired(test.asOf); got != test.want {
			t.Errorf("as of %s: %t", test.asOf, got)
		}
	}
}

func TestBest(t *testing.T) {
	now := date(2027, 1, 1)
	expired := &exception.Exception{Kind: "Deployment", Name: "web", Until: date(2026, 1, 1), Line: 1}
	whole := &exception.Exception{Until: date(2028, 1, 1), Line: 2}
	own := &exception.Exception{Kind: "Deployment", Name: "web", Until: date(2027, 6, 1), Line: 3}
	longer := &exception.Exception{Kind: "Deployment", Name: "web", Binding: "b", Until: date(2027, 7, 1), Line: 4}
	for _, test := range []struct{ a, b, want *exception.Exception }{
		{nil, expired, expired}, {expired, nil, expired}, {expired, whole, whole}, {whole, own, own}, {own, longer, longer},
	} {
		if got := exception.Best(test.a, test.b, now); got != test.want {
			t.Errorf("of lines %v and %v: %v", test.a, test.b, got)
		}
		if got := exception.Best(test.b, test.a, now); got != test.want {
			t.Errorf("the other way round, of lines %v and %v: %v", test.a, test.b, got)
		}
	}
}

// FuzzParse: no file makes it panic, and what it takes is whole.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("exceptions: [{workload: {kind: a, name: *b}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := exception.Parse("f", data)
		for _, e := range list {
			if err != nil || e.Policy == "" || e.Reason == "" || e.ApprovedBy == "" || e.Until.IsZero() || (e.Kind == "") != (e.Name == "") {
				t.Errorf("%+v is taken (%v)", e, err)
			}
		}
	})
}
