package grafana

import "strings"

// Variable is a choice at the top of a dashboard.
type Variable struct {
	Name, Label string
	// Source is the plugin whose data sources are offered; or
	Source string
	// SQL lists what can be chosen, in Postgres; or
	SQL string
	// Constant is a value that a person may type over.
	Constant string
}

// Data sources are named by variables, so that the dashboards work wherever they are put.
var (
	postgres   = map[string]string{"type": "grafana-postgresql-datasource", "uid": "${postgres}"}
	prometheus = map[string]string{"type": "prometheus", "uid": "${prometheus}"}

	postgresVariable   = Variable{Name: "postgres", Label: "Postgres", Source: "grafana-postgresql-datasource"}
	prometheusVariable = Variable{Name: "prometheus", Label: "Prometheus", Source: "prometheus"}
)

// all is what a query sees of a variable of which everything is chosen: no list of thousands of names.
const all = "'*'"

func (v Variable) json() map[string]any {
	out := map[string]any{"name": v.Name, "label": v.Label, "hide": 0, "skipUrlSync": false}
	if v.Source != "" {
		out["type"], out["query"], out["refresh"], out["regex"] = "datasource", v.Source, 1, ""
		out["multi"], out["includeAll"] = false, false
		return out
	}
	if v.Constant != "" {
		out["type"], out["query"] = "textbox", v.Constant
		out["current"] = map[string]any{"text": v.Constant, "value": v.Constant}
		return out
	}
	out["type"], out["query"], out["definition"], out["datasource"] = "query", v.SQL, v.SQL, postgres
	out["refresh"] = 2 // with the time range
	out["sort"], out["regex"] = 0, ""
	out["multi"], out["includeAll"], out["allValue"] = true, true, all
	out["current"] = map[string]any{"text": []string{"All"}, "value": []string{"$__all"}}
	return out
}

// unnamed is shown and chosen where a column is empty: Grafana cannot offer an empty choice.
var unnamed = map[string]string{
	"cluster": "(unnamed)", "binding": "(none)", "team": "(none)", "namespace": "(cluster-wide)",
}

// shown is a column as a person sees it.
func shown(column string) string {
	if name, ok := unnamed[column]; ok {
		return "coalesce(nullif(" + column + ", ''), '" + name + "')"
	}
	return column
}

// among is the condition that a column is among what is chosen of the variable of the same name. It names the column
// itself, so that an index on it can be used.
func among(columns ...string) string {
	var conditions []string
	for _, c := range columns {
		list := "(${" + c + ":sqlstring})"
		condition := "'*' IN " + list + " OR " + c + " IN " + list
		if name, ok := unnamed[c]; ok {
			condition += " OR " + c + " = '' AND '" + name + "' IN " + list
		}
		conditions = append(conditions, "("+condition+")")
	}
	return strings.Join(conditions, "\n  AND ")
}

// scope are the variables that narrow what is shown of the policies, each narrowing those behind it.
func scope() []Variable {
	columns := []string{"cluster", "policy", "binding", "team", "namespace"}
	labels := []string{"Cluster", "Policy", "Binding", "Team", "Namespace"}
	variables := []Variable{postgresVariable}
	for i, c := range columns {
		sql := "SELECT DISTINCT " + shown(c) + " AS " + c + "\nFROM vapshadow.v_rollups\nWHERE $__timeFilter(minute)"
		if i > 0 {
			sql += "\n  AND " + among(columns[:i]...)
		}
		variables = append(variables, Variable{Name: c, Label: labels[i], SQL: sql + "\nORDER BY 1"})
	}
	return variables
}

// chosen is the condition that a row is in the scope and in the time range, by the column of its time.
func chosen(time string) string {
	return "$__timeFilter(" + time + ")\n  AND " + among("cluster", "policy", "binding", "team", "namespace")
}

// linkTo leads to a dashboard, in the same time range, narrowed to the values that a table's row has in columns.
func linkTo(uid string, columns ...string) string {
	parts := []string{"/d/" + uid + "?${__url_time_range}"}
	for _, c := range columns {
		parts = append(parts, "var-"+c+"=${__data.fields."+c+":percentencode}")
	}
	return strings.Join(parts, "&")
}
