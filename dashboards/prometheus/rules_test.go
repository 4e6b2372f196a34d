package prometheus_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var ruleFiles = []string{"rules.yaml", "alerts.yaml"}

// rule is a rule of Prometheus, recorded or alerting.
type rule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

func TestPromtoolAcceptsTheConfiguration(t *testing.T) {
	promtool(t, "check", "config", "prometheus.yaml")
	promtool(t, append([]string{"check", "rules"}, ruleFiles...)...)
}

func TestPromtoolRunsTheRules(t *testing.T) {
	tests, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(tests) == 0 {
		t.Fatalf("there are no tests in testdata: %v", err)
	}
	promtool(t, append([]string{"test", "rules"}, tests...)...)
}

// An alert that no test lets fire may never fire.
func TestEveryAlertFiresInATest(t *testing.T) {
	fires := map[string]bool{}
	tests, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range tests {
		var content struct {
			Tests []struct {
				Cases []struct {
					Name   string `yaml:"alertname"`
					Alerts []any  `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			}
		}
		read(t, file, &content)
		for _, test := range content.Tests {
			for _, c := range test.Cases {
				fires[c.Name] = fires[c.Name] || len(c.Alerts) > 0
			}
		}
	}
	for _, r := range rules(t) {
		if r.Alert != "" && !fires[r.Alert] {
			t.Errorf("no test in testdata has %s fire", r.Alert)
		}
	}
}

func TestEveryAlertSaysWhatToDo(t *testing.T) {
	const page = "https://github.com/vapshadow/vapshadow/blob/main/docs/operations.md#"
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		if want := page + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s: summary or description is missing", r.Alert)
		}
		if s := r.Labels["severity"]; s != "warning" && s != "critical" {
			t.Errorf("%s: severity is %q, want warning or critical", r.Alert, s)
		}
	}
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	for _, file := range ruleFiles {
		var content struct {
			Groups []struct{ Rules []rule }
		}
		read(t, file, &content)
		for _, g := range content.Groups {
			all = append(all, g.Rules...)
		}
	}
	if len(all) == 0 {
		t.Fatal("there are no rules")
	}
	return all
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// promtool runs the tool of Prometheus, which alone knows what its rules mean.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is not on PATH: install Prometheus 2.42 or newer (apt-get install prometheus), whose daemon is not needed")
	}
	if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Fatalf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
