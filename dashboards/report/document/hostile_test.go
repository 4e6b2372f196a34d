package document_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/dashboards/report/document"
	"github.com/vapshadow/vapshadow/sink"
)

// TestHTMLHoldsNoMarkupOfALog: nothing but the template's own elements.
func TestHTMLHoldsNoMarkupOfALog(t *testing.T) {
	page := write(t, "html", buildWith(t, verified(t, sample()), sink.Filter{}, accepted()))
	if strings.Contains(page, "<script") || strings.Contains(page, "\u202e") {
		t.Error("the page holds a script, or turns its writing round")
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("the hostile name is not on the page")
	}
	for _, outside := range regexp.MustCompile(`(src|href)="?[^#"]`).FindAllString(page, -1) {
		t.Errorf("the page loads something, or leads somewhere: %s", outside)
	}
	// Elements nest: what is opened is closed, by the names that the template uses.
	for _, name := range []string{"table", "tr", "td", "section", "pre", "details", "ul", "li"} {
		if open, closed := strings.Count(page, "<"+name+">")+strings.Count(page, "<"+name+" "), strings.Count(page, "</"+name+">"); open != closed || open == 0 {
			t.Errorf("%d <%s> and %d </%s>", open, name, closed, name)
		}
	}
}

func TestCSVHoldsNoFormula(t *testing.T) {
	text := write(t, "csv", buildWith(t, verified(t, sample()), sink.Filter{}, accepted()))
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && cell != "-" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
				t.Errorf("a spreadsheet calculates %q", cell)
			}
			found = found || strings.HasPrefix(cell, "'=cmd|")
		}
	}
	if !found {
		t.Error("the hostile name is not there")
	}
}

func TestXMLKeepsHostileTextsAsText(t *testing.T) {
	text := write(t, "junit", buildWith(t, verified(t, sample()), sink.Filter{}, accepted()))
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Suites   []struct {
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure string `xml:"failure"`
				Error   string `xml:"error"`
				Skipped *struct {
					Message string `xml:"message,attr"`
				} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(text), &suites); err != nil {
		t.Fatal(err)
	}
	if suites.Tests != 4 || suites.Failures != 1 || suites.Errors != 1 || suites.Skipped != 1 || len(suites.Suites[0].Cases) != 4 {
		t.Errorf("counts: %+v", suites)
	}
	for _, c := range suites.Suites[0].Cases {
		switch c.Name {
		case "breaks-b":
			if !strings.Contains(c.Failure, `</td><script>alert(1)</script>\n---\n@team \u202e`) {
				t.Errorf("the hostile name comes back as %q", c.Failure)
			}
		case "silent-b":
			if c.Skipped == nil || !strings.Contains(c.Skipped.Message, "nothing matched") {
				t.Errorf("what matched nothing: %+v", c)
			}
		case "clean-b":
			if c.Failure != "" || c.Error != "" || c.Skipped != nil {
				t.Errorf("what is ready does not pass: %+v", c)
			}
		}
	}
}

func TestMarkdownHoldsNoMarkupOfALog(t *testing.T) {
	text := write(t, "markdown", buildWith(t, verified(t, sample()), sink.Filter{}, accepted()))
	code := regexp.MustCompile("(?s)```+yaml\n.*?\n```+|``[^\n]*?``|`[^`\n]*`")
	rest := code.ReplaceAllString(text, "")
	for _, markup := range []string{"<script", "@team", "\u202e", "</td>"} {
		if strings.Contains(rest, markup) {
			t.Errorf("%s stands outside of code", markup)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "| ``=") || strings.HasPrefix(line, "| `shop: Deployment") {
			if cells := len(regexp.MustCompile(`[^\\]\|`).FindAllString(line, -1)); cells != 7 {
				t.Errorf("the row has %d cells: %s", cells, line)
			}
		}
	}
}

// reportShape is what the CRDs of openreports.io/v1alpha1 and wgpolicyk8s.io/v1alpha2 let through.
type reportShape struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Source  *string        `json:"source"` // openreports.io only
	Summary map[string]int `json:"summary"`
	Results []struct {
		Source    string `json:"source"`
		Policy    string `json:"policy"`
		Rule      string `json:"rule"`
		Severity  string `json:"severity"`
		Timestamp struct {
			Seconds *int64 `json:"seconds"`
			Nanos   *int32 `json:"nanos"`
		} `json:"timestamp"`
		Result    string `json:"result"`
		Scored    bool   `json:"scored"`
		Resources []struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
			Namespace  string `json:"namespace"`
		} `json:"resources"`
		Message    string            `json:"message"`
		Properties map[string]string `json:"properties"`
	} `json:"results"`
}

func TestReportsAreOfTheirCRDs(t *testing.T) {
	d := buildWith(t, verified(t, sample()), sink.Filter{}, accepted())
	for _, test := range []struct {
		format, apiVersion, namespaced, cluster string
		source                                  bool
	}{
		{"openreports", "openreports.io/v1alpha1", "Report", "ClusterReport", true},
		{"policyreport", "wgpolicyk8s.io/v1alpha2", "PolicyReport", "ClusterPolicyReport", false},
	} {
		results := map[string]int{}
		documents := strings.Split(write(t, test.format, d), "\n---\n")
		if len(documents) != 3 { // the cluster, shop, and the hostile namespace
			t.Fatalf("%s: %d objects, want 3", test.format, len(documents))
		}
		for _, text := range documents {
			asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			var o reportShape
			decoder := json.NewDecoder(bytes.NewReader(asJSON))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&o); err != nil {
				t.Fatalf("%s: %v", test.format, err)
			}
			kind := test.namespaced
			if o.Metadata.Namespace == "" {
				kind = test.cluster
			}
			if o.APIVersion != test.apiVersion || o.Kind != kind || o.Metadata.Name == "" || (o.Source != nil) != test.source {
				t.Errorf("%s %s %q, source %v", o.APIVersion, o.Kind, o.Metadata.Name, o.Source)
			}
			sum := map[string]int{"pass": 0, "fail": 0, "warn": 0, "error": 0, "skip": 0}
			for _, r := range o.Results {
				if _, known := sum[r.Result]; !known || r.Policy == "" {
					t.Errorf("policy %q, result %q", r.Policy, r.Result)
				}
				if !strings.Contains(" critical high low medium info ", " "+r.Severity+" ") && r.Severity != "" {
					t.Errorf("severity %q", r.Severity)
				}
				if (r.Timestamp.Seconds == nil) != (r.Timestamp.Nanos == nil) {
					t.Error("a timestamp has both of its fields or is absent")
				}
				sum[r.Result]++
				results[r.Result]++
			}
			for result, n := range sum {
				if o.Summary[result] != n {
					t.Errorf("%s: the summary has %d %s, and there are %d", test.format, o.Summary[result], result, n)
				}
			}
		}
		for result, n := range map[string]int{"pass": 1, "fail": 4, "error": 2, "skip": 1} {
			if results[result] != n {
				t.Errorf("%s: %d results are %s, want %d", test.format, results[result], result, n)
			}
		}
	}
	two := sample()
	two.Rollups[0].Cluster = "other"
	var out bytes.Buffer
	if err := document.Write(&out, "openreports", build(t, store(t, two), sink.Filter{})); err == nil || !strings.Contains(err.Error(), "--cluster") {
		t.Errorf("two clusters in one: %v", err)
	}
}
