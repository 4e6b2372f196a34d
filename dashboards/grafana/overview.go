package grafana

// overview answers: which policies are ready to be enforced?
func overview() Dashboard {
	return Dashboard{
		UID: "vapshadow-overview", Title: "vapshadow / Overview", From: "now-7d",
		Description: "Had these ValidatingAdmissionPolicies been enforced, whom would they have stopped?",
		Variables:   scope(),
		Rows: []Row{
			{Height: 4, Panels: overviewTotals()},
			{Height: 10, Panels: []Panel{readiness()}},
			{Height: 9, Panels: []Panel{failuresByPolicy(), coverageByPolicy()}},
			{Height: 9, Panels: []Panel{unknownReasons(), blocking(), namespacesHit()}},
		},
	}
}

func overviewTotals() []Panel {
	total := func(title, description, unit string, alarm bool, expression string) Panel {
		return Panel{
			Kind: "stat", Title: title, Description: description, Unit: unit, Alarm: alarm, Width: 4,
			SQL: "SELECT " + expression + " AS value\nFROM vapshadow.v_rollups\nWHERE " + chosen("minute"),
		}
	}
	return []Panel{
		{
			Kind: "stat", Title: "Policies", Description: "Policies whose match constraints matched a request.", Unit: "short", Width: 4,
			SQL: "SELECT count(*) AS value\nFROM (SELECT DISTINCT cluster, policy FROM vapshadow.v_rollups WHERE " + chosen("minute") + ") AS matched",
		},
		total("Evaluations", "Evaluations of a policy and binding on a request that its match constraints matched.", "short", false, "coalesce(sum(count), 0)"),
		total("Failures", "Evaluations in which a validation is false: requests that enforcing the binding would stop.", "short", false,
			"coalesce(sum(count) FILTER (WHERE result = 'Fail'), 0)"),
		total("Errors", "Evaluations that end in an error. Under failurePolicy Fail, enforcing stops the request.", "short", false,
			"coalesce(sum(count) FILTER (WHERE result = 'Error'), 0)"),
		total("Blocks anyway", "Evaluations that reject the request whatever validationActions say, today. Should be 0.", "short", true,
			"coalesce(sum(count) FILTER (WHERE blocks_anyway), 0)"),
		total("Coverage", "The share of evaluations that could be decided. What is missing from 100% is Unknown: the log does not tell.", "percentunit", false,
			"1 - sum(count) FILTER (WHERE result = 'Unknown') / nullif(sum(count), 0)"),
	}
}

func readiness() Panel {
	return Panel{
		Kind: "table", Title: "Outcome of each policy", Width: 24, Unit: "short",
		Description: "What enforcing each binding would have done in this time. Clean means decided throughout, without a failure or an error. " +
			"A policy that matched nothing is listed as such: it proves nothing. Whether a binding is ready, by days and coverage, vapshadow's own pages say.",
		SQL: `WITH totals AS (
  SELECT cluster, policy, binding, sum(count) AS matched,
    coalesce(sum(count) FILTER (WHERE result = 'Fail'), 0) AS failures,
    coalesce(sum(count) FILTER (WHERE result = 'Error'), 0) AS errors,
    coalesce(sum(count) FILTER (WHERE result = 'Unknown'), 0) AS unknown,
    coalesce(sum(count) FILTER (WHERE blocks_anyway), 0) AS blocks_anyway,
    count(DISTINCT namespace) FILTER (WHERE result = 'Fail') AS namespaces_hit,
    max(minute) FILTER (WHERE result IN ('Fail', 'Error')) AS last_failure
  FROM vapshadow.v_rollups
  WHERE ` + chosen("minute") + `
  GROUP BY cluster, policy, binding
), silent AS (
  SELECT DISTINCT cluster, name AS policy
  FROM vapshadow.v_policies AS p
  WHERE kind = 'ValidatingAdmissionPolicy'
    AND '*' IN (${policy:sqlstring}) AND '*' IN (${binding:sqlstring}) AND '*' IN (${team:sqlstring}) AND '*' IN (${namespace:sqlstring})
    AND ` + among("cluster") + `
    AND NOT EXISTS (SELECT FROM totals AS t WHERE t.cluster = p.cluster AND t.policy = p.name)
)
SELECT ` + shown("cluster") + ` AS cluster, policy, ` + shown("binding") + ` AS binding,
  CASE WHEN blocks_anyway > 0 THEN 'blocks anyway'
    WHEN failures > 0 THEN 'would stop requests'
    WHEN errors > 0 THEN 'errors'
    WHEN unknown > 0 THEN 'not all is known'
    ELSE 'clean' END AS outcome,
  matched, failures, errors, unknown, blocks_anyway, 1 - unknown / matched AS coverage, namespaces_hit, last_failure
FROM totals
UNION ALL
SELECT ` + shown("cluster") + `, policy, '', 'matched nothing', 0, 0, 0, 0, 0, NULL, 0, NULL
FROM silent
ORDER BY blocks_anyway DESC, failures DESC, errors DESC, unknown DESC, policy`,
		Columns: []Column{
			{Name: "policy", Link: linkTo("vapshadow-policy", "cluster", "policy"), Width: 260},
			{Name: "outcome", Width: 160},
			{Name: "coverage", Unit: "percentunit"},
			{Name: "blocks_anyway", Alarm: true},
			{Name: "last_failure", Unit: "dateTimeFromNow"},
		},
	}
}

func failuresByPolicy() Panel {
	return Panel{
		Kind: "timeseries", Title: "Failures by policy", Width: 12, Unit: "short", Stacked: true,
		Description: "Requests that would have been stopped. A line that falls to 0 and stays there is a policy that becomes ready.",
		SQL: `SELECT date_bin('$__interval', minute, 'epoch') AS time, policy AS metric, sum(count) AS failures
FROM vapshadow.v_rollups
WHERE result IN ('Fail', 'Error')
  AND ` + chosen("minute") + `
GROUP BY 1, 2
ORDER BY 1, 2`,
	}
}

func coverageByPolicy() Panel {
	return Panel{
		Kind: "timeseries", Title: "Coverage by policy", Width: 12, Unit: "percentunit",
		Description: "The share of evaluations that could be decided. It falls where the log holds less: another audit level, truncated events, objects that are not known.",
		SQL: `SELECT date_bin('$__interval', minute, 'epoch') AS time, policy AS metric,
  1 - coalesce(sum(count) FILTER (WHERE result = 'Unknown'), 0) / sum(count) AS coverage
FROM vapshadow.v_rollups
WHERE ` + chosen("minute") + `
GROUP BY 1, 2
ORDER BY 1, 2`,
	}
}

func unknownReasons() Panel {
	return Panel{
		Kind: "table", Title: "Why verdicts are Unknown", Width: 8, Unit: "short",
		Description: "What the log does not tell. docs/replay.md says of each reason what would have to be logged.",
		SQL: `SELECT policy, because, sum(count) AS evaluations
FROM vapshadow.v_rollups
WHERE result = 'Unknown'
  AND ` + chosen("minute") + `
GROUP BY 1, 2
ORDER BY 3 DESC
LIMIT 50`,
		Columns: []Column{{Name: "policy", Link: linkTo("vapshadow-policy", "policy")}},
	}
}

func blocking() Panel {
	return Panel{
		Kind: "table", Title: "Blocks anyway", Width: 8, Unit: "short",
		Description: "Policies that reject requests whatever validationActions say: configuration errors and errors of audit annotations under failurePolicy Fail. Mend these first.",
		SQL: `SELECT ` + shown("cluster") + ` AS cluster, policy, ` + shown("binding") + ` AS binding, sum(count) AS evaluations, max(minute) AS last
FROM vapshadow.v_rollups
WHERE blocks_anyway
  AND ` + chosen("minute") + `
GROUP BY 1, 2, 3
ORDER BY 4 DESC`,
		Columns: []Column{
			{Name: "policy", Link: linkTo("vapshadow-policy", "cluster", "policy")},
			{Name: "evaluations", Alarm: true},
			{Name: "last", Unit: "dateTimeFromNow"},
		},
	}
}

func namespacesHit() Panel {
	return Panel{
		Kind: "table", Title: "Namespaces that would be hit most", Width: 8, Unit: "short",
		Description: "Where the requests that fail or end in an error were made.",
		SQL: `SELECT ` + shown("cluster") + ` AS cluster, ` + shown("namespace") + ` AS namespace, sum(count) AS failures, count(DISTINCT policy) AS policies
FROM vapshadow.v_rollups
WHERE result IN ('Fail', 'Error')
  AND ` + chosen("minute") + `
GROUP BY 1, 2
ORDER BY 3 DESC
LIMIT 50`,
		Columns: []Column{{Name: "namespace", Link: linkTo("vapshadow-namespace", "cluster", "namespace")}},
	}
}
