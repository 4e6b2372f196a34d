package prometheus_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestDocsTellOfEveryAlertAndMetric(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		// The title is where runbook_url leads; the table says how severe it is.
		if !strings.Contains(page, "\n### "+r.Alert+"\n") {
			t.Errorf("docs/operations.md has no section %s", r.Alert)
		}
		if row := "| [" + r.Alert + "](#" + strings.ToLower(r.Alert) + ") | " + r.Labels["severity"] + " |"; !strings.Contains(page, row) {
			t.Errorf("docs/operations.md has no row %s", row)
		}
	}
	for name, labels := range known(t) {
		row := "| `" + name + "` |"
		if len(labels) > 0 {
			row = "| `" + name + "` [" + strings.Join(labels, ", ") + "] |"
		}
		if !strings.Contains(page, row) {
			t.Errorf("docs/operations.md has no row %s", row)
		}
	}
	for line := range strings.Lines(page) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "### Vapshadow"); ok &&
			!slices.ContainsFunc(rules(t), func(r rule) bool { return r.Alert == "Vapshadow"+name }) {
			t.Errorf("docs/operations.md tells of Vapshadow%s, which there is not", name)
		}
	}
}
