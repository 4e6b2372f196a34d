package grafana

// namespace answers for its owners: which policies would stop us, and what do we have to change?
func namespace() Dashboard {
	return Dashboard{
		UID: "vapshadow-namespace", Title: "vapshadow / Namespace", From: "now-7d",
		Description: "What the owners of a namespace have to change before policies are enforced.",
		Variables:   scope(),
		Rows: []Row{
			{Height: 9, Panels: []Panel{namespaceFailures(), namespacePolicies()}},
			{Height: 9, Panels: []Panel{toChange()}},
			{Height: 9, Panels: []Panel{who(), where()}},
			{Height: 9, Panels: []Panel{latest()}},
		},
	}
}

func namespaceFailures() Panel {
	return Panel{
		Kind: "timeseries", Title: "Failures by namespace", Width: 12, Unit: "short", Stacked: true,
		Description: "Requests of each namespace that would have been stopped; the twenty namespaces with most.",
		SQL: `WITH most AS (
  SELECT cluster, namespace
  FROM vapshadow.v_rollups
  WHERE result IN ('Fail', 'Error')
    AND ` + chosen("minute") + `
  GROUP BY 1, 2
  ORDER BY sum(count) DESC
  LIMIT 20
)
SELECT date_bin('$__interval', minute, 'epoch') AS time, ` + shown("namespace") + ` AS metric, sum(count) AS failures
FROM vapshadow.v_rollups JOIN most USING (cluster, namespace)
WHERE result IN ('Fail', 'Error')
  AND ` + chosen("minute") + `
GROUP BY 1, 2
ORDER BY 1, 2`,
	}
}

func namespacePolicies() Panel {
	return Panel{
		Kind: "table", Title: "Policies here", Width: 12, Unit: "short",
		Description: "Each policy that matches requests of the namespace, and what came of it.",
		SQL: `SELECT ` + shown("cluster") + ` AS cluster, ` + shown("namespace") + ` AS namespace, policy, sum(count) AS matched,
  coalesce(sum(count) FILTER (WHERE result IN ('Fail', 'Error')), 0) AS failures,
  coalesce(sum(count) FILTER (WHERE blocks_anyway), 0) AS blocks_anyway,
  1 - coalesce(sum(count) FILTER (WHERE result = 'Unknown'), 0) / sum(count) AS coverage
FROM vapshadow.v_rollups
WHERE ` + chosen("minute") + `
GROUP BY 1, 2, 3
ORDER BY 5 DESC, 4 DESC
LIMIT 200`,
		Columns: []Column{
			{Name: "policy", Link: linkTo("vapshadow-policy", "cluster", "policy", "namespace")},
			{Name: "blocks_anyway", Alarm: true}, {Name: "coverage", Unit: "percentunit"},
		},
	}
}

func toChange() Panel {
	return Panel{
		Kind: "table", Title: "What to change", Width: 24, Unit: "short",
		Description: "Each workload with each message that it would get. A row whose last is long ago may be mended already.",
		SQL: `SELECT ` + shown("namespace") + ` AS namespace, coalesce(nullif(owner_kind, ''), kind) AS kind,
  coalesce(nullif(owner_name, ''), nullif(name, ''), '(generated)') AS name, policy, message,
  count(DISTINCT audit_id) AS requests, max(stage_timestamp) AS last
FROM vapshadow.v_failures
WHERE result IN ('Fail', 'Error')
  AND ` + chosen("stage_timestamp") + `
GROUP BY 1, 2, 3, 4, 5
ORDER BY 7 DESC
LIMIT 200`,
		Columns: []Column{
			{Name: "policy", Link: linkTo("vapshadow-policy", "policy", "namespace")}, {Name: "message", Width: 480},
			{Name: "last", Unit: "dateTimeFromNow"},
		},
	}
}
