package grafana_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/vapshadow/vapshadow/dashboards/grafana"
)

// dashboard is the JSON of a dashboard, as far as these tests look at it.
type dashboard struct {
	file          string
	UID, Title    string
	Description   string
	SchemaVersion int
	Tags          []string
	Links         []link
	Templating    struct{ List []variable }
	Panels        []panel
}

type link struct {
	Type, URL string
	Tags      []string
}

type variable struct {
	Name, Type, AllValue string
	Query                string
	Datasource           *reference
	Multi, IncludeAll    bool
}

type reference struct{ Type, UID string }

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               reference
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []target
	FieldConfig              struct {
		Defaults  struct{ Unit string }
		Overrides []override
	}
}

type target struct {
	RefID, Format, RawSQL, Expr string
	Datasource                  reference
}

type override struct {
	Matcher    struct{ ID, Options string }
	Properties []struct {
		ID    string
		Value json.RawMessage
	}
}

// dashboards reads the dashboards as Grafana does: from the files.
func dashboards(t *testing.T) (all []dashboard) {
	t.Helper()
	files, err := filepath.Glob("dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no dashboards: %v", err)
	}
	for _, file := range files {
		d := dashboard{file: filepath.Base(file)}
		if err := json.Unmarshal(content(t, file), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, d)
	}
	return all
}

func content(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFilesAreUpToDate(t *testing.T) {
	files, _ := filepath.Glob("dashboards/*.json")
	if have, want := len(files), len(grafana.All()); have != want {
		t.Errorf("dashboards/ has %d files for %d dashboards: %v", have, want, files)
	}
	for _, d := range grafana.All() {
		want, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if file := filepath.Join("dashboards", d.UID+".json"); !bytes.Equal(content(t, file), want) {
			t.Errorf("%s is not what the code says: run go generate ./dashboards/grafana", file)
		}
	}
}

func TestPanelsFitTheirRow(t *testing.T) {
	wide := grafana.Dashboard{UID: "d", Rows: []grafana.Row{{Height: 4, Panels: []grafana.Panel{{Title: "a", Width: 20}, {Title: "b", Width: 5}}}}}
	if _, err := wide.JSON(); err == nil {
		t.Error("a row of 25 units was accepted")
	}
}
