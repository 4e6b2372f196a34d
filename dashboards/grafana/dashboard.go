// Package grafana describes the dashboards of vapshadow for Grafana 11 and newer: what each panel asks, and how it shows
// the answer. go generate writes them to dashboards/ as the JSON that Grafana reads.
//
// What policies did comes from Postgres, through the views that migrations/postgres makes for a reader; how the service
// is comes from Prometheus.
package grafana

import (
	"bytes"
	"encoding/json"
	"fmt"
)

//go:generate go run ./generate dashboards

// Dashboard is a dashboard, as a person thinks of it.
type Dashboard struct {
	// UID is fixed: links and bookmarks go by it.
	UID, Title, Description string
	// From is the beginning of the time range at first, as Grafana writes it: now-7d. It ends now.
	From      string
	Variables []Variable
	// Rows are shown one below the other, the panels of a row side by side.
	Rows []Row
}

// Row is a line of panels of one height, 24 units wide at most.
type Row struct {
	// Height is in units of about 38 pixels.
	Height int
	Panels []Panel
}

// All are the dashboards of vapshadow.
func All() []Dashboard {
	return []Dashboard{overview(), policy(), namespace(), agreement(), pipeline()}
}

// tag is on all dashboards, which link to each other by it.
const tag = "vapshadow"

// JSON is the dashboard as Grafana reads it.
func (d Dashboard) JSON() ([]byte, error) {
	panels, err := layOut(d.Rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.UID, err)
	}
	variables := []map[string]any{}
	for _, v := range d.Variables {
		variables = append(variables, v.json())
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(map[string]any{
		"uid": d.UID, "title": d.Title, "description": d.Description, "tags": []string{tag},
		"schemaVersion": 41, "version": 1, "editable": true, "graphTooltip": 1, "timezone": "browser", "refresh": "1m",
		"time":       map[string]string{"from": d.From, "to": "now"},
		"templating": map[string]any{"list": variables},
		"links": []map[string]any{{
			"title": "vapshadow", "type": "dashboards", "tags": []string{tag}, "asDropdown": false, "icon": "external link",
			"includeVars": true, "keepTime": true, "targetBlank": false, "tooltip": "", "url": "",
		}},
		"annotations": map[string]any{"list": []any{}},
		"panels":      panels,
	})
	return out.Bytes(), err
}

// layOut gives each panel its number and place.
func layOut(rows []Row) ([]map[string]any, error) {
	var panels []map[string]any
	y := 0
	for _, row := range rows {
		x := 0
		for _, p := range row.Panels {
			if p.Width <= 0 || x+p.Width > 24 {
				return nil, fmt.Errorf("panel %q is %d wide and begins at %d: a row is 24 wide", p.Title, p.Width, x)
			}
			panel := p.json()
			panel["id"] = len(panels) + 1
			panel["gridPos"] = map[string]int{"x": x, "y": y, "w": p.Width, "h": row.Height}
			panels = append(panels, panel)
			x += p.Width
		}
		y += row.Height
	}
	return panels, nil
}
