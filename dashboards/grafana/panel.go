package grafana

// Panel is one panel: a question, and how the answer is shown.
type Panel struct {
	Title, Description string
	// Kind is a panel plugin of Grafana's: stat, timeseries, table, barchart.
	Kind string
	// Width is in units of a 24th of the page.
	Width int
	// SQL is asked of Postgres; Queries are asked of Prometheus. One of the two is given.
	SQL     string
	Queries []Query
	// Unit is Grafana's id of the unit: short, percentunit (of 1), s, bytes. Columns differ from it by name.
	Unit    string
	Columns []Column
	// Alarm colours the value red where it is 1 or more, for what should be 0.
	Alarm bool
	// Stacked draws the lines of a timeseries on top of each other.
	Stacked bool
}

// Query is a question to Prometheus.
type Query struct {
	Expr string
	// Legend names the lines, {{label}} standing for a label.
	Legend string
	// Instant asks for the value now, not for a line.
	Instant bool
}

// Column is how a column of a table differs from the others.
type Column struct {
	Name string
	Unit string
	// Alarm colours the cell as the Alarm of a panel does.
	Alarm bool
	// Link is where a click leads.
	Link string
	// Width is in pixels; 0 leaves it to Grafana.
	Width int
}

func (p Panel) json() map[string]any {
	targets, source := p.targets()
	defaults := map[string]any{
		"unit": p.Unit, "color": map[string]any{"mode": "palette-classic"}, "mappings": []any{}, "custom": p.custom(),
	}
	if p.Alarm {
		defaults["thresholds"], defaults["color"] = alarm(), map[string]any{"mode": "thresholds"}
	}
	return map[string]any{
		"type": p.Kind, "title": p.Title, "description": p.Description, "datasource": source, "targets": targets,
		// Rollups are kept by the minute.
		"interval":    "1m",
		"fieldConfig": map[string]any{"defaults": defaults, "overrides": p.overrides()},
		"options":     p.options(),
	}
}

func (p Panel) targets() (targets []map[string]any, source map[string]string) {
	if p.SQL != "" {
		format := "table"
		if p.Kind == "timeseries" {
			format = "time_series"
		}
		return []map[string]any{{
			"refId": "A", "datasource": postgres, "editorMode": "code", "format": format, "rawQuery": true, "rawSql": p.SQL,
		}}, postgres
	}
	for i, q := range p.Queries {
		targets = append(targets, map[string]any{
			"refId": string(rune('A' + i)), "datasource": prometheus, "editorMode": "code", "expr": q.Expr,
			"legendFormat": q.Legend, "instant": q.Instant, "range": !q.Instant,
		})
	}
	return targets, prometheus
}

// custom are the settings that a kind of panel has for its fields.
func (p Panel) custom() map[string]any {
	switch p.Kind {
	case "timeseries":
		stacking := "none"
		if p.Stacked {
			stacking = "normal"
		}
		return map[string]any{
			"drawStyle": "line", "lineWidth": 1, "fillOpacity": 15, "showPoints": "auto", "spanNulls": false,
			"stacking": map[string]any{"mode": stacking, "group": "A"},
		}
	case "table":
		return map[string]any{"align": "auto", "cellOptions": map[string]any{"type": "auto"}, "filterable": true}
	}
	return map[string]any{}
}

func (p Panel) options() map[string]any {
	switch p.Kind {
	case "stat":
		return map[string]any{
			"colorMode": "value", "graphMode": "none", "justifyMode": "auto", "textMode": "auto", "orientation": "auto",
			"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
		}
	case "timeseries":
		return map[string]any{
			"legend":  map[string]any{"displayMode": "table", "placement": "right", "showLegend": true, "calcs": []string{"max", "lastNotNull"}},
			"tooltip": map[string]any{"mode": "multi", "sort": "desc"},
		}
	case "table":
		return map[string]any{"showHeader": true, "cellHeight": "sm"}
	}
	return map[string]any{}
}

func (p Panel) overrides() []map[string]any {
	overrides := []map[string]any{}
	for _, c := range p.Columns {
		var properties []map[string]any
		set := func(id string, value any) {
			properties = append(properties, map[string]any{"id": id, "value": value})
		}
		if c.Unit != "" {
			set("unit", c.Unit)
		}
		if c.Width > 0 {
			set("custom.width", c.Width)
		}
		if c.Alarm {
			set("thresholds", alarm())
			set("custom.cellOptions", map[string]any{"type": "color-text"})
			set("color", map[string]any{"mode": "thresholds"})
		}
		if c.Link != "" {
			set("links", []map[string]any{{"title": "Show", "url": c.Link, "targetBlank": false}})
		}
		overrides = append(overrides, map[string]any{
			"matcher": map[string]any{"id": "byName", "options": c.Name}, "properties": properties,
		})
	}
	return overrides
}

// alarm is red from 1 on, for counts of what should not be.
func alarm() map[string]any {
	return map[string]any{"mode": "absolute", "steps": []map[string]any{
		{"color": "green", "value": nil}, {"color": "red", "value": 1},
	}}
}
