package grafana

// pipeline answers: can the other dashboards be believed? Is all that was logged evaluated, and counted once?
func pipeline() Dashboard {
	return Dashboard{
		UID: "vapshadow-pipeline", Title: "vapshadow / Pipeline", From: "now-6h",
		Description: "Whether the service keeps up, and whether all that came in is accounted for.",
		Variables:   []Variable{postgresVariable, prometheusVariable, processVariable(), sourceVariable()},
		Rows: []Row{
			{Height: 4, Panels: pipelineTotals()},
			{Height: 8, Panels: []Panel{lag(), behind()}},
			{Height: 8, Panels: []Panel{rates(), results5m()}},
			{Height: 8, Panels: []Panel{commits(), failuresOfWork(), memory()}},
			{Height: 8, Panels: []Panel{ledger()}},
			{Height: 9, Panels: []Panel{leftOut(), deadLetters()}},
			{Height: 8, Panels: []Panel{positions()}},
		},
	}
}

func processVariable() Variable {
	return Variable{Name: "job", Label: "Job", Constant: "vapshadow"}
}

func sourceVariable() Variable {
	return Variable{Name: "source", Label: "Source", SQL: "SELECT DISTINCT source FROM vapshadow.v_positions ORDER BY 1"}
}

func pipelineTotals() []Panel {
	return []Panel{
		{
			Kind: "stat", Title: "Processes", Width: 4, Unit: "short",
			Description: "Processes whose metrics Prometheus reads.",
			Queries:     []Query{{Expr: `sum(up{job="$job"})`, Instant: true}},
		},
		{
			Kind: "stat", Title: "Events a second", Width: 4, Unit: "eps",
			Description: "Events that were stored, over the last five minutes.",
			Queries:     []Query{{Expr: `sum(rate(vapshadow_events_total{job="$job", outcome="Ingested"}[5m]))`, Instant: true}},
		},
		{
			Kind: "stat", Title: "Furthest behind", Width: 4, Unit: "s",
			Description: "The age of the latest event that was read, of the partition where it is oldest and that holds more.",
			Queries: []Query{{Instant: true, Expr: `max(time() - vapshadow_source_event_time_seconds{job="$job"}
  and vapshadow_source_behind{job="$job"} > 0 and vapshadow_source_owned{job="$job"} == 1) or vector(0)`}},
		},
		{
			Kind: "stat", Title: "Not accounted for", Width: 4, Unit: "short", Alarm: true,
			Description: "Ingested less evaluated, not admission, skipped and dead-lettered, over all partitions and all time. Anything but 0 is a defect of vapshadow.",
			SQL:         "SELECT coalesce(sum(abs(difference)), 0) AS value FROM vapshadow.v_ledger WHERE " + among("source"),
		},
		{
			Kind: "stat", Title: "Dead letters", Width: 4, Unit: "short", Alarm: true,
			Description: "Pieces of input, in this time range, that may have been events and could not be used.",
			SQL:         "SELECT count(*) AS value FROM vapshadow.v_dead_letters WHERE $__timeFilter(at) AND " + among("source"),
		},
		{
			Kind: "stat", Title: "Policies that cannot be loaded", Width: 4, Unit: "short", Alarm: true,
			Description: "Processes that evaluate the last good policies, because those in the files cannot be loaded.",
			Queries:     []Query{{Expr: `sum(vapshadow_policies_load_failed{job="$job"})`, Instant: true}},
		},
	}
}

func lag() Panel {
	return Panel{
		Kind: "timeseries", Title: "Age of the latest event", Width: 12, Unit: "s",
		Description: "How old the latest event is that was read from each partition, by the process that evaluates it. It also grows where a cluster is quiet: look at what is not read yet.",
		Queries: []Query{{
			Expr:   `time() - vapshadow_source_event_time_seconds{job="$job"} and vapshadow_source_owned{job="$job"} == 1`,
			Legend: "{{source}}/{{partition}}",
		}},
	}
}

func behind() Panel {
	return Panel{
		Kind: "timeseries", Title: "Not read yet", Width: 12, Unit: "short",
		Description: "What each partition holds that is not read yet: messages of a topic, bytes of a file.",
		Queries: []Query{{
			Expr:   `vapshadow_source_behind{job="$job"} and vapshadow_source_owned{job="$job"} == 1`,
			Legend: "{{source}}/{{partition}}",
		}},
	}
}

func rates() Panel {
	return Panel{
		Kind: "timeseries", Title: "Events by what became of them", Width: 12, Unit: "eps", Stacked: true,
		Description: "Evaluated, no admission request (reads, other stages), skipped, or dead-lettered.",
		Queries: []Query{{
			Expr:   `sum by (outcome) (rate(vapshadow_events_total{job="$job", outcome!~"Ingested|Requests"}[$__rate_interval]))`,
			Legend: "{{outcome}}",
		}},
	}
}

func results5m() Panel {
	return Panel{
		Kind: "timeseries", Title: "Evaluations by result", Width: 12, Unit: "ops", Stacked: true,
		Description: "Evaluations of policies that were stored, by their result.",
		Queries: []Query{{
			Expr: `sum by (result) (rate(vapshadow_evaluations_total{job="$job"}[$__rate_interval]))`, Legend: "{{result}}",
		}},
	}
}

func commits() Panel {
	quantile := func(q string) string {
		return "histogram_quantile(" + q + `, sum by (le) (rate(vapshadow_commit_duration_seconds_bucket{job="$job"}[$__rate_interval])))`
	}
	return Panel{
		Kind: "timeseries", Title: "How long a commit takes", Width: 8, Unit: "s",
		Description: "The transaction that stores a batch: median and 99th percentile.",
		Queries:     []Query{{Expr: quantile("0.5"), Legend: "median"}, {Expr: quantile("0.99"), Legend: "99%"}},
	}
}

func failuresOfWork() Panel {
	return Panel{
		Kind: "timeseries", Title: "Failures of sources and store", Width: 8, Unit: "ops",
		Description: "Each is tried again. One that does not end holds up its partition.",
		Queries: []Query{
			{Expr: `sum by (source) (rate(vapshadow_source_errors_total{job="$job"}[$__rate_interval]))`, Legend: "source {{source}}"},
			{Expr: `sum(rate(vapshadow_commit_errors_total{job="$job"}[$__rate_interval]))`, Legend: "store"},
		},
	}
}

func memory() Panel {
	return Panel{
		Kind: "timeseries", Title: "Memory", Width: 8, Unit: "bytes",
		Description: "What each process takes, and what of it is input that is read and not yet stored. limits in the configuration bound both.",
		Queries: []Query{
			{Expr: `process_resident_memory_bytes{job="$job"}`, Legend: "{{instance}}"},
			{Expr: `vapshadow_queue_bytes{job="$job"}`, Legend: "{{instance}} queue"},
		},
	}
}

func ledger() Panel {
	return Panel{
		Kind: "table", Title: "Ledger", Width: 24, Unit: "short",
		Description: "What became of all that was ingested, for all time: ingested = evaluated + not admission + skipped + dead-lettered. The difference is 0, or vapshadow has a defect.",
		SQL: `SELECT source, partition, ingested, evaluated, not_admission, skipped, dead_lettered, requests, abs(difference) AS difference
FROM vapshadow.v_ledger
WHERE ` + among("source") + `
ORDER BY source, partition`,
		Columns: []Column{{Name: "difference", Alarm: true}, {Name: "dead_lettered", Alarm: true}},
	}
}

func leftOut() Panel {
	return Panel{
		Kind: "table", Title: "Why input was not evaluated", Width: 10, Unit: "short",
		Description: "For all time, by reason. Most events of a log are reads, and no admission requests.",
		SQL: `SELECT source, ` + shown("cluster") + ` AS cluster, outcome, reason, sum(count) AS events
FROM vapshadow.v_ledger_lines
WHERE reason <> ''
  AND ` + among("source") + `
GROUP BY 1, 2, 3, 4
ORDER BY 5 DESC`,
	}
}

func deadLetters() Panel {
	return Panel{
		Kind: "table", Title: "Dead letters", Width: 14, Unit: "short",
		Description: "Where the pieces of input are that may have been events and could not be used. Nothing of what is in them is kept.",
		SQL: `SELECT at AS time, source, partition, mark_generation AS generation, mark_offset AS "offset", reason, detail
FROM vapshadow.v_dead_letters
WHERE $__timeFilter(at)
  AND ` + among("source") + `
ORDER BY at DESC
LIMIT 200`,
		Columns: []Column{
			{Name: "time", Unit: "dateTimeAsIso", Width: 170}, {Name: "generation", Unit: "none"}, {Name: "offset", Unit: "none"},
			{Name: "detail", Width: 320},
		},
	}
}

func positions() Panel {
	return Panel{
		Kind: "table", Title: "Positions", Width: 24, Unit: "short",
		Description: "How far each partition has been stored, and when.",
		SQL: `SELECT source, partition, generation, "offset", event_time, updated_at
FROM vapshadow.v_positions
WHERE ` + among("source") + `
ORDER BY source, partition`,
		Columns: []Column{
			{Name: "generation", Unit: "none"}, {Name: "offset", Unit: "none"},
			{Name: "event_time", Unit: "dateTimeFromNow"}, {Name: "updated_at", Unit: "dateTimeFromNow"},
		},
	}
}
