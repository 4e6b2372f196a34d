package prometheus_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vapshadow/vapshadow/internal/metrics"
)

// known are the metrics of the service: their labels by name.
func known(t *testing.T) map[string][]string {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		metrics.New("test").Registry.Describe(descs)
	}()
	parts := regexp.MustCompile(`fqName: "(vapshadow_\w+)".*variableLabels: \{([^}]*)\}`)
	all := map[string][]string{}
	for d := range descs {
		if m := parts.FindStringSubmatch(d.String()); m != nil {
			all[m[1]] = strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' })
		}
	}
	if len(all) == 0 {
		t.Fatal("no metrics were found: has prometheus.Desc another form?")
	}
	return all
}

var (
	metricName = regexp.MustCompile(`\bvapshadow_\w+`)
	selection  = regexp.MustCompile(`\b(vapshadow_\w+)\{([^}]*)\}`)
	labelName  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
)

// ofHistograms are what a histogram's name ends with in queries.
var ofHistograms = regexp.MustCompile(`_(bucket|sum|count)$`)

// check complains of each metric, and label of a metric, that the service does not have.
func check(t *testing.T, where, expr string, metrics map[string][]string) {
	t.Helper()
	for _, name := range metricName.FindAllString(expr, -1) {
		if metrics[name] == nil && metrics[ofHistograms.ReplaceAllString(name, "")] == nil {
			t.Errorf("%s: the service has no metric %s", where, name)
		}
	}
	for _, m := range selection.FindAllStringSubmatch(expr, -1) {
		labels := append([]string{"job", "instance", "le"}, metrics[m[1]]...)
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labels, l[1]) {
				t.Errorf("%s: %s has no label %s, but %v", where, m[1], l[1], metrics[m[1]])
			}
		}
	}
}

func TestRulesNameMetricsThatThereAre(t *testing.T) {
	all := known(t)
	for _, r := range rules(t) {
		check(t, r.Record+r.Alert, r.Expr, all)
	}
}
