package prometheus_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The queries of the dashboards are made into rules, since promtool reads queries in rules only.
func TestDashboardsAskForMetricsThatThereAre(t *testing.T) {
	all := known(t)
	variable := regexp.MustCompile(`\$\{?\w+(?::\w+)?\}?`)
	var made []map[string]string
	for where, expr := range dashboardExprs(t) {
		check(t, where, expr, all)
		for old, with := range map[string]string{"$__rate_interval": "5m", "$__range": "1h", "$__interval": "1m"} {
			expr = strings.ReplaceAll(expr, old, with)
		}
		made = append(made, map[string]string{"record": "asked", "expr": variable.ReplaceAllString(expr, "x")})
	}
	file := filepath.Join(t.TempDir(), "rules.json") // JSON is YAML
	content, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "g", "rules": made}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", "--lint=none", file)
}

// dashboardExprs are the PromQL queries of Grafana's dashboards, by file and place.
func dashboardExprs(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../grafana/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no dashboards: %v", err)
	}
	exprs := map[string]string{}
	for _, file := range files {
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct {
					RefID string `yaml:"refId"`
					Expr  string
				}
			}
		}
		read(t, file, &dashboard)
		for _, p := range dashboard.Panels {
			for _, target := range p.Targets {
				if target.Expr != "" {
					exprs[filepath.Base(file)+": "+p.Title+" "+target.RefID] = target.Expr
				}
			}
		}
	}
	if len(exprs) == 0 {
		t.Fatal("no dashboard asks Prometheus for anything")
	}
	return exprs
}
