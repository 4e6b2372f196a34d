package grafana

// policy answers: whom does a policy hurt, where, and with which expression; and did a change of it help?
func policy() Dashboard {
	return Dashboard{
		UID: "vapshadow-policy", Title: "vapshadow / Policy", From: "now-7d",
		Description: "Who and what a policy would have stopped, and how that changed with its text.",
		Variables:   scope(),
		Rows: []Row{
			{Height: 9, Panels: []Panel{results(), failuresByHash()}},
			{Height: 9, Panels: []Panel{newAndRepeated()}},
			{Height: 8, Panels: []Panel{beforeAndAfter()}},
			{Height: 9, Panels: []Panel{expressions(), who()}},
			{Height: 9, Panels: []Panel{where(), workloads()}},
			{Height: 9, Panels: []Panel{latest()}},
			{Height: 9, Panels: []Panel{unknowns(), annotations()}},
			{Height: 8, Panels: []Panel{texts()}},
		},
	}
}

func results() Panel {
	return Panel{
		Kind: "timeseries", Title: "Evaluations by result", Width: 12, Unit: "short", Stacked: true,
		Description: "Pass, Fail, Error, Unknown, and Skipped: a match condition was false.",
		SQL: `SELECT date_bin('$__interval', minute, 'epoch') AS time, result AS metric, sum(count) AS evaluations
FROM vapshadow.v_rollups
WHERE ` + chosen("minute") + `
GROUP BY 1, 2
ORDER BY 1, 2`,
	}
}

func failuresByHash() Panel {
	return Panel{
		Kind: "timeseries", Title: "Share of failures by policy text", Width: 12, Unit: "percentunit",
		Description: "Failures and errors over all evaluations, for each text that the policy had: a change of the policy begins a new line.",
		SQL: `SELECT date_bin('$__interval', minute, 'epoch') AS time, policy || ' ' || left(policy_hash, 8) AS metric,
  coalesce(sum(count) FILTER (WHERE result IN ('Fail', 'Error')), 0) / sum(count) AS failing
FROM vapshadow.v_rollups
WHERE ` + chosen("minute") + `
GROUP BY 1, 2
ORDER BY 1, 2`,
	}
}

func newAndRepeated() Panel {
	return Panel{
		Kind: "timeseries", Title: "New and repeated failures", Width: 24, Unit: "short", Stacked: true,
		Description: "Validations that fail or end in an error. Repeated are those of updates that left what fails as it was: the object had failed before.",
		SQL: `SELECT date_bin('$__interval', stage_timestamp, 'epoch') AS time, CASE WHEN repeats THEN 'repeated' ELSE 'new' END AS metric, count(*) AS failures
FROM vapshadow.v_failures
WHERE result IN ('Fail', 'Error')
  AND ` + chosen("stage_timestamp") + `
GROUP BY 1, 2
ORDER BY 1, 2`,
	}
}

func beforeAndAfter() Panel {
	return Panel{
		Kind: "table", Title: "Before and after each change", Width: 24, Unit: "short",
		Description: "One row for each text that the policy and its binding had, newest first. Compare the shares, not the counts: the times differ.",
		SQL: `SELECT ` + shown("cluster") + ` AS cluster, policy, ` + shown("binding") + ` AS binding,
  left(policy_hash, 12) AS policy_hash, left(binding_hash, 12) AS binding_hash,
  min(minute) AS first_seen, max(minute) AS last_seen, sum(count) AS matched,
  coalesce(sum(count) FILTER (WHERE result IN ('Fail', 'Error')), 0) AS failures,
  coalesce(sum(count) FILTER (WHERE result IN ('Fail', 'Error')), 0) / sum(count) AS failing,
  coalesce(sum(count) FILTER (WHERE result = 'Unknown'), 0) / sum(count) AS unknown,
  coalesce(sum(count) FILTER (WHERE blocks_anyway), 0) AS blocks_anyway
FROM vapshadow.v_rollups
WHERE ` + chosen("minute") + `
GROUP BY 1, 2, 3, 4, 5
ORDER BY first_seen DESC
LIMIT 100`,
		Columns: []Column{
			{Name: "first_seen", Unit: "dateTimeAsIso"}, {Name: "last_seen", Unit: "dateTimeAsIso"},
			{Name: "failing", Unit: "percentunit"}, {Name: "unknown", Unit: "percentunit"}, {Name: "blocks_anyway", Alarm: true},
		},
	}
}

func expressions() Panel {
	return Panel{
		Kind: "table", Title: "Which validation, with which message", Width: 14, Unit: "short",
		Description: "The validation that is not met, counted from 0 in the policy (-1 is the evaluation as a whole), and what the apiserver would say.",
		SQL: `SELECT policy, expression_index AS expression, result, message, count(*) AS failures, count(DISTINCT username) AS users
FROM vapshadow.v_failures
WHERE result IN ('Fail', 'Error')
  AND ` + chosen("stage_timestamp") + `
GROUP BY 1, 2, 3, 4
ORDER BY 5 DESC
LIMIT 50`,
		Columns: []Column{{Name: "message", Width: 420}, {Name: "expression", Unit: "none", Width: 90}},
	}
}

func who() Panel {
	return Panel{
		Kind: "table", Title: "Who", Width: 10, Unit: "short",
		Description: "Users and service accounts whose requests fail, and what they used.",
		SQL: `SELECT username, split_part(user_agent, ' ', 1) AS client, count(DISTINCT audit_id) AS requests, max(stage_timestamp) AS last
FROM vapshadow.v_failures
WHERE result IN ('Fail', 'Error')
  AND ` + chosen("stage_timestamp") + `
GROUP BY 1, 2
ORDER BY 3 DESC
LIMIT 50`,
		Columns: []Column{{Name: "last", Unit: "dateTimeFromNow"}},
	}
}

func where() Panel {
	return Panel{
		Kind: "table", Title: "Where", Width: 12, Unit: "short",
		Description: "Namespaces, resources and operations of the evaluations that fail or end in an error.",
		SQL: `SELECT ` + shown("cluster") + ` AS cluster, ` + shown("namespace") + ` AS namespace,
  concat_ws('/', nullif(api_group, ''), resource, nullif(sub_resource, '')) AS resource, operation, sum(count) AS failures
FROM vapshadow.v_rollups
WHERE result IN ('Fail', 'Error')
  AND ` + chosen("minute") + `
GROUP BY 1, 2, 3, 4
ORDER BY 5 DESC
LIMIT 50`,
		Columns: []Column{{Name: "namespace", Link: linkTo("vapshadow-namespace", "cluster", "namespace")}},
	}
}

func workloads() Panel {
	return Panel{
		Kind: "table", Title: "Workloads", Width: 12, Unit: "short",
		Description: "What owns the objects that fail: the ReplicaSet of a Pod, or the object itself where nothing owns it.",
		SQL: `SELECT ` + shown("namespace") + ` AS namespace, coalesce(nullif(owner_kind, ''), kind) AS kind,
  coalesce(nullif(owner_name, ''), nullif(name, ''), '(generated)') AS name,
  count(DISTINCT audit_id) AS requests, count(DISTINCT audit_id) FILTER (WHERE NOT repeats) AS new, min(stage_timestamp) AS first, max(stage_timestamp) AS last
FROM vapshadow.v_failures
WHERE result IN ('Fail', 'Error')
  AND ` + chosen("stage_timestamp") + `
GROUP BY 1, 2, 3
ORDER BY 4 DESC
LIMIT 50`,
		Columns: []Column{{Name: "first", Unit: "dateTimeFromNow"}, {Name: "last", Unit: "dateTimeFromNow"}},
	}
}

func latest() Panel {
	return Panel{
		Kind: "table", Title: "Latest failures", Width: 24, Unit: "short",
		Description: "Each with the auditID of its event: vapshadow explain --audit-id shows how the verdict came about.",
		SQL: `SELECT stage_timestamp AS time, ` + shown("cluster") + ` AS cluster, policy, ` + shown("binding") + ` AS binding, result, effect, operation,
  ` + shown("namespace") + ` AS namespace, kind, name, username, expression_index AS expression,
  CASE WHEN repeats THEN 'repeated' ELSE 'new' END AS new_or_repeated, message, evidence, audit_id
FROM vapshadow.v_failures
WHERE result IN ('Fail', 'Error')
  AND ` + chosen("stage_timestamp") + `
ORDER BY stage_timestamp DESC
LIMIT 200`,
		Columns: []Column{{Name: "time", Unit: "dateTimeAsIso", Width: 170}, {Name: "expression", Unit: "none"}, {Name: "message", Width: 320}},
	}
}

func unknowns() Panel {
	return Panel{
		Kind: "table", Title: "What Unknown verdicts hang on", Width: 14, Unit: "short",
		Description: "The attributes that are missing, and why. Log them, or give vapshadow a snapshot, and these verdicts are decided.",
		SQL: `SELECT policy, expression_index AS expression, because, array_to_string(unknown_attributes, ', ') AS attributes, count(*) AS verdicts
FROM vapshadow.v_failures
WHERE result = 'Unknown'
  AND ` + chosen("stage_timestamp") + `
GROUP BY 1, 2, 3, 4
ORDER BY 5 DESC
LIMIT 50`,
		Columns: []Column{{Name: "expression", Unit: "none", Width: 90}, {Name: "attributes", Width: 320}},
	}
}

func annotations() Panel {
	return Panel{
		Kind: "table", Title: "Audit annotations", Width: 10, Unit: "short",
		Description: "The annotations that the policy's auditAnnotations, and its failures with the action Audit, would have written. They know no binding or namespace.",
		SQL: `SELECT annotation_key AS key, count(*) AS requests, count(DISTINCT annotation_value) AS "values"
FROM vapshadow.v_annotations
WHERE $__timeFilter(stage_timestamp)
  AND ` + among("cluster") + `
  AND ('*' IN (${policy:sqlstring}) OR split_part(annotation_key, '/', 1) IN (${policy:sqlstring}))
GROUP BY 1
ORDER BY 2 DESC
LIMIT 50`,
	}
}

func texts() Panel {
	return Panel{
		Kind: "table", Title: "Texts", Width: 24, Unit: "short",
		Description: "The policies as they were evaluated, by the hash that other panels name.",
		SQL: `SELECT ` + shown("cluster") + ` AS cluster, kind, name, left(hash, 12) AS policy_hash, text
FROM vapshadow.v_policies
WHERE kind = 'ValidatingAdmissionPolicy'
  AND ` + among("cluster") + `
  AND ('*' IN (${policy:sqlstring}) OR name IN (${policy:sqlstring}))
ORDER BY name, hash
LIMIT 100`,
		Columns: []Column{{Name: "text", Width: 900}},
	}
}
