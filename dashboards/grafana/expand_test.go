package grafana_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// choice is what a person has chosen at the top of a dashboard. A variable that is not in it has All.
type choice map[string][]string

// asked is the SQL that Grafana sends to Postgres for a query: variables first, as the browser does it, then the macros
// of the Postgres plugin.
func asked(t *testing.T, sql string, of []variable, c choice, from, to time.Time) string {
	t.Helper()
	for _, v := range of {
		sql = strings.ReplaceAll(sql, "${"+v.Name+":sqlstring}", sqlString(v, c))
	}
	sql = strings.ReplaceAll(sql, "$__interval", "10m") // of 7 days on 1,000 pixels
	const instant = "2006-01-02T15:04:05.999Z"
	between := fmt.Sprintf("$1 BETWEEN '%s' AND '%s'", from.UTC().Format(instant), to.UTC().Format(instant))
	sql = regexp.MustCompile(`\$__timeFilter\((\w+)\)`).ReplaceAllString(sql, between)
	if i := strings.Index(sql, "$"); i >= 0 {
		t.Fatalf("%.40q is no macro or variable that these tests know", sql[i:])
	}
	return sql
}

// sqlString is Grafana's format of that name: a list of quoted strings. All is given as the dashboard says it, unquoted.
func sqlString(v variable, c choice) string {
	values := c[v.Name]
	if len(values) == 0 {
		return v.AllValue
	}
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = "'" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	return strings.Join(quoted, ",")
}
