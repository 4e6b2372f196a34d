package readiness

import (
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// What the queries have in common. Both dialects of SQL read all of it alike.
const (
	pair    = "cluster, policy, binding, {namespace}"
	request = "audit_id || '/' || item"
	// stops: the row has its request rejected, were the binding set to [Deny].
	stops = "(result = 'Fail' OR (result = 'Error' AND NOT ignored))"
	// config: the evaluation as a whole could not be made, whether failurePolicy lets that through or not.
	config = "(result = 'Error' AND expression_index = -1)"
)

const (
	countsSQL = `SELECT ` + pair + `, policy_hash, binding_hash, CASE WHEN result = 'Unknown' THEN 'Unknown' ELSE 'Decided' END, evidence,
	CASE WHEN result = 'Unknown' THEN because ELSE '' END, {team}, min(minute), max(minute), CAST(sum(count) AS bigint)
FROM {rollups} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10`

	endsSQL = `SELECT cluster, max(minute) FROM {cluster's rollups} GROUP BY cluster`

	daysSQL = `SELECT DISTINCT cluster, {day} FROM {cluster's rollups}`

	requestsSQL = `SELECT ` + pair + `,
	count(DISTINCT ` + request + `) FILTER (WHERE ` + stops + `),
	count(DISTINCT ` + request + `) FILTER (WHERE ` + stops + ` AND namespace = ''),
	count(DISTINCT ` + request + `) FILTER (WHERE ` + stops + ` AND ` + table.New + `),
	count(DISTINCT ` + request + `) FILTER (WHERE blocks_anyway),
	count(DISTINCT ` + request + `) FILTER (WHERE ` + config + `)
FROM {failures} GROUP BY 1, 2, 3, 4`

	hitSQL = `SELECT ` + pair + `, namespace, CASE WHEN owner_name = '' THEN kind ELSE owner_kind END,
	CASE WHEN owner_name = '' THEN name ELSE owner_name END, username, max(stage_timestamp),
	count(*) FILTER (WHERE ` + table.New + `)
FROM {failures} AND ` + stops + ` GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`

	policiesSQL = `SELECT cluster, kind, name, text FROM {policies}`
)

// build fills in the view that a query reads, with the conditions of a filter.
func build(sql string, db Querier, f sink.Filter, byNamespace bool) (string, []any) {
	namespace, team := "''", "''"
	if byNamespace {
		namespace, team = "namespace", "team"
	}
	sql = strings.Replace(sql, "{namespace}", namespace, 1)
	sql = strings.Replace(sql, "{team}", team, 1)
	// Rollups know minutes only; with the rows of part of a minute the counts would not agree.
	f.Since, f.Until = f.Since.Truncate(time.Minute), f.Until.Truncate(time.Minute)
	f = sink.Filter{
		Cluster: f.Cluster, Policy: f.Policy, Binding: f.Binding, Namespace: f.Namespace, Team: f.Team, Since: f.Since, Until: f.Until,
	}
	sql = strings.Replace(sql, "{day}", db.Day("minute"), 1)
	cluster := sink.Filter{Cluster: f.Cluster, Since: f.Since, Until: f.Until}
	for _, from := range []struct {
		name, view string
		conditions []table.Condition
	}{
		{"{rollups}", "v_rollups", table.Rollups.Conditions(f)},
		{"{failures}", "v_failures", table.Failures.Conditions(f)},
		{"{cluster's rollups}", "v_rollups", table.Rollups.Conditions(cluster)},
		{"{policies}", "v_policies", table.Policies.Conditions(sink.Filter{Cluster: f.Cluster})},
	} {
		before, after, found := strings.Cut(sql, from.name)
		if !found {
			continue
		}
		where, args := []string{"true"}, []any(nil)
		for _, c := range from.conditions {
			args = append(args, c.Value)
			where = append(where, c.Column+" "+c.Operator+" "+db.Placeholder(len(args)))
		}
		return before + db.View(from.view) + " WHERE " + strings.Join(where, " AND ") + after, args
	}
	return sql, nil
}
