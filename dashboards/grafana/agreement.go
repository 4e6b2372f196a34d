package grafana

// agreement answers: does the apiserver itself say the same, where its log holds what it said?
func agreement() Dashboard {
	return Dashboard{
		UID: "vapshadow-agreement", Title: "vapshadow / Agreement", From: "now-30d",
		Description: "vapshadow's decisions beside those that apiservers recorded in their logs, as vapshadow verify --store compared them.",
		Variables:   comparedScope(),
		Rows: []Row{
			{Height: 4, Panels: agreementTotals()},
			{Height: 9, Panels: []Panel{agreementOverTime(), notCompared()}},
			{Height: 10, Panels: []Panel{comparedPolicies()}},
			{Height: 8, Panels: []Panel{disagreements()}},
			{Height: 8, Panels: []Panel{agreementRuns()}},
		},
	}
}

// comparedScope are the variables that narrow what was compared, each narrowing those behind it.
func comparedScope() []Variable {
	columns := []string{"cluster", "policy", "binding"}
	labels := []string{"Cluster", "Policy", "Binding"}
	variables := []Variable{postgresVariable}
	for i, c := range columns {
		sql := "SELECT DISTINCT " + shown(c) + " AS " + c + "\nFROM vapshadow.v_agreement\nWHERE $__timeFilter(last_event)"
		if i > 0 {
			sql += "\n  AND " + among(columns[:i]...)
		}
		variables = append(variables, Variable{Name: c, Label: labels[i], SQL: sql + "\nORDER BY 1"})
	}
	return variables
}

// compared is the condition that a row is in the scope, and that no later run tells of it.
func compared() string {
	return "latest AND $__timeFilter(last_event)\n  AND " + among("cluster", "policy", "binding")
}

// Sums of v_agreement.
const (
	agreed     = "coalesce(sum(count) FILTER (WHERE outcome = 'Agreed'), 0)"
	bothFail   = "coalesce(sum(count) FILTER (WHERE outcome = 'Agreed' AND reason IN ('BothFail', 'Reordered')), 0)"
	disagreed  = "coalesce(sum(count) FILTER (WHERE outcome = 'Disagreed'), 0)"
	inCommon   = "coalesce(sum(count) FILTER (WHERE outcome IN ('Agreed', 'Disagreed')), 0)"
	undecided  = "coalesce(sum(count) FILTER (WHERE outcome = 'Undecided'), 0)"
	unrecorded = "coalesce(sum(count) FILTER (WHERE outcome = 'NotRecorded'), 0)"
)

func agreementTotals() []Panel {
	total := func(title, description, unit string, alarm bool, expression string) Panel {
		return Panel{
			Kind: "stat", Title: title, Description: description, Unit: unit, Alarm: alarm, Width: 4,
			SQL: "SELECT " + expression + " AS value\nFROM vapshadow.v_agreement\nWHERE annotation = '' AND " + compared(),
		}
	}
	return []Panel{
		total("Logs", "How many logs were compared. A log that was compared again counts once. None means: not verified.", "short", false, "count(DISTINCT (cluster, log))"),
		total("Decisions compared", "Decisions of a policy and binding on a request that both sides hold.", "short", false, inCommon),
		total("Agreement", "The share of the compared decisions on which both sides agree.", "percentunit", false,
			"sum(count) FILTER (WHERE outcome = 'Agreed') / nullif("+inCommon+", 0)"),
		total("Both fail", "Agreed failures. That both sides find nothing wrong proves less.", "short", false, bothFail),
		total("Disagreements", "Compared decisions on which the two sides differ. Should be 0.", "short", true, disagreed),
		total("Not comparable", "Decisions of which one of the two sides is not known.", "short", false, undecided+" + "+unrecorded),
	}
}

func agreementOverTime() Panel {
	return Panel{
		Kind: "timeseries", Title: "Agreement over time", Width: 14, Unit: "percentunit",
		Description: "The share of the compared decisions and values on which both sides agree; each log stands where it ends.",
		SQL: `SELECT date_bin('$__interval', last_event, 'epoch') AS time, policy AS metric,
  ` + agreed + ` / ` + inCommon + ` AS agreement
FROM vapshadow.v_agreement
WHERE ` + compared() + `
GROUP BY 1, 2
HAVING ` + inCommon + ` > 0
ORDER BY 1, 2`,
	}
}

func notCompared() Panel {
	return Panel{
		Kind: "table", Title: "Not comparable", Width: 10, Unit: "short",
		Description: "Undecided: vapshadow does not know, for this reason. NotRecorded: the log does not hold the apiserver's decision. NotGiven: the log names policies that verify was not given; these are events.",
		SQL: `SELECT outcome, reason, count(DISTINCT policy) AS policies, sum(count) AS times
FROM vapshadow.v_agreement
WHERE outcome NOT IN ('Agreed', 'Disagreed')
  AND ` + compared() + `
GROUP BY 1, 2
ORDER BY 4 DESC, 1, 2
LIMIT 50`,
	}
}

func comparedPolicies() Panel {
	return Panel{
		Kind: "table", Title: "Agreement of each policy", Width: 24, Unit: "short",
		Description: "The decisions of each policy and binding. What disagrees comes first. A policy without anything compared is not verified.",
		SQL: `SELECT ` + shown("cluster") + ` AS cluster, policy, ` + shown("binding") + ` AS binding,
  ` + inCommon + ` AS compared, ` + agreed + ` AS agreed, ` + bothFail + ` AS both_fail, ` + disagreed + ` AS disagreed,
  ` + undecided + ` AS undecided, ` + unrecorded + ` AS not_recorded, max(last_event) AS log_until
FROM vapshadow.v_agreement
WHERE annotation = '' AND outcome <> 'NotGiven'
  AND ` + compared() + `
GROUP BY 1, 2, 3
ORDER BY 7 DESC, 4, 2, 3
LIMIT 200`,
		Columns: []Column{
			{Name: "policy", Link: linkTo("vapshadow-policy", "cluster", "policy"), Width: 260},
			{Name: "disagreed", Alarm: true}, {Name: "log_until", Unit: "dateTimeAsIso"},
		},
	}
}

func disagreements() Panel {
	return Panel{
		Kind: "table", Title: "Disagreements", Width: 24, Unit: "short",
		Description: "By kind, with the first audit IDs: docs/verify.md says what it can mean. vapshadow explain --audit-id shows how vapshadow came to its side.",
		SQL: `SELECT ` + shown("cluster") + ` AS cluster, policy, ` + shown("binding") + ` AS binding, annotation, reason AS kind, count AS times,
  last_event AS log_until, array_to_string(audit_ids, ' ') AS audit_ids
FROM vapshadow.v_agreement
WHERE outcome = 'Disagreed'
  AND ` + compared() + `
ORDER BY last_event DESC, count DESC, policy, binding, annotation, reason
LIMIT 200`,
		Columns: []Column{
			{Name: "policy", Link: linkTo("vapshadow-policy", "cluster", "policy")}, {Name: "times", Alarm: true},
			{Name: "log_until", Unit: "dateTimeAsIso"}, {Name: "audit_ids", Width: 420},
		},
	}
}

func agreementRuns() Panel {
	return Panel{
		Kind: "table", Title: "Comparisons", Width: 24, Unit: "short",
		Description: "Each comparison: of which log, when, by which versions. Difference should be 0: every event is accounted for, once.",
		SQL: `SELECT ` + shown("cluster") + ` AS cluster, first_event AS log_from, last_event AS log_until, verified_at AS made, kubernetes_version AS kubernetes,
  vapshadow_version AS vapshadow, apiserver_version AS apiserver, cel_version AS cel, ingested AS events, recorded AS with_a_decision,
  dead_lettered AS unreadable, difference
FROM vapshadow.v_agreement_runs
WHERE $__timeFilter(last_event)
  AND ` + among("cluster") + `
ORDER BY last_event DESC, verified_at DESC
LIMIT 100`,
		Columns: []Column{
			{Name: "log_from", Unit: "dateTimeAsIso"}, {Name: "log_until", Unit: "dateTimeAsIso"}, {Name: "made", Unit: "dateTimeFromNow"},
			{Name: "difference", Alarm: true},
		},
	}
}
