package grafana_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestDashboards(t *testing.T) {
	all := dashboards(t)
	uids := map[string]bool{}
	for _, d := range all {
		if d.UID+".json" != d.file || uids[d.UID] {
			t.Errorf("%s: uid is %q, want the file's name, once", d.file, d.UID)
		}
		uids[d.UID] = true
		if d.Title == "" || d.Description == "" || d.SchemaVersion < 39 || !slices.Equal(d.Tags, []string{"vapshadow"}) {
			t.Errorf("%s: title, description, tag or schemaVersion (39 is Grafana 11) is missing", d.file)
		}
	}
	for _, d := range all {
		t.Run(d.UID, func(t *testing.T) {
			checkLinks(t, d, uids)
			checkVariables(t, d)
			checkPlaces(t, d)
			for _, p := range d.Panels {
				checkPanel(t, p)
			}
		})
	}
}

func checkPanel(t *testing.T, p panel) {
	t.Helper()
	if p.Title == "" || p.Description == "" {
		t.Errorf("panel %d (%s): title or description is missing", p.ID, p.Title)
	}
	if p.FieldConfig.Defaults.Unit == "" {
		t.Errorf("%s: unit is missing", p.Title)
	}
	if len(p.Targets) == 0 {
		t.Errorf("%s: asks nothing", p.Title)
	}
	for _, target := range p.Targets {
		if target.Datasource != p.Datasource || (target.RawSQL == "") == (target.Expr == "") {
			t.Errorf("%s: has two data sources, or not one query", p.Title)
		}
		want := reference{Type: "prometheus", UID: "${prometheus}"}
		if target.RawSQL != "" {
			want = reference{Type: "grafana-postgresql-datasource", UID: "${postgres}"}
		}
		if target.Datasource != want {
			t.Errorf("%s: data source is %+v, want %+v", p.Title, target.Datasource, want)
		}
	}
}

func checkPlaces(t *testing.T, d dashboard) {
	t.Helper()
	ids, places := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if p.ID == 0 || ids[p.ID] {
			t.Errorf("%s: id %d is there twice", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := places[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies on %s, or beside the page", p.Title, other)
				}
				places[[2]int{x, y}] = p.Title
			}
		}
	}
}

func checkVariables(t *testing.T, d dashboard) {
	t.Helper()
	names := map[string]variable{}
	for _, v := range d.Templating.List {
		names[v.Name] = v
		if v.Type == "query" && (v.Datasource == nil || v.Datasource.UID != "${postgres}" || v.Query == "") {
			t.Errorf("variable %s: has no query of Postgres, by variable", v.Name)
		}
	}
	used := regexp.MustCompile(`\$\{?(\w+)`)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			for _, m := range used.FindAllStringSubmatch(target.RawSQL+target.Expr+target.Datasource.UID, -1) {
				if _, ok := names[m[1]]; !ok && !strings.HasPrefix(m[1], "__") {
					t.Errorf("%s: the dashboard has no variable %s", p.Title, m[1])
				}
			}
		}
	}
}

var (
	dashboardOf = regexp.MustCompile(`^/d/([\w-]+)\?`)
	setting     = regexp.MustCompile(`var-(\w+)=`)
)

// checkLinks follows the links to the dashboards and to the variables that they set there.
func checkLinks(t *testing.T, d dashboard, uids map[string]bool) {
	t.Helper()
	for _, l := range d.Links {
		if l.Type != "dashboards" || !slices.Equal(l.Tags, d.Tags) {
			t.Errorf("the link %+v does not go by the tag of the dashboards", l)
		}
	}
	for _, p := range d.Panels {
		for _, url := range linksOf(t, p) {
			m := dashboardOf.FindStringSubmatch(url)
			if m == nil || !uids[m[1]] {
				t.Errorf("%s: %s leads to no dashboard", p.Title, url)
				continue
			}
			for _, s := range setting.FindAllStringSubmatch(url, -1) {
				if !slices.Contains([]string{"cluster", "policy", "binding", "namespace"}, s[1]) {
					t.Errorf("%s: %s sets no variable of that dashboard", p.Title, url)
				}
			}
		}
	}
}

func linksOf(t *testing.T, p panel) (urls []string) {
	t.Helper()
	for _, o := range p.FieldConfig.Overrides {
		for _, property := range o.Properties {
			if property.ID != "links" {
				continue
			}
			var links []link
			if err := json.Unmarshal(property.Value, &links); err != nil {
				t.Fatal(err)
			}
			for _, l := range links {
				urls = append(urls, l.URL)
			}
		}
	}
	return urls
}

// The data sources are of the types that the variables offer, and no password is written down.
func TestProvisioning(t *testing.T) {
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			UID, Type, URL, User string
			SecureJSONData       map[string]string `yaml:"secureJsonData"`
		}
	}
	if err := yaml.Unmarshal(content(t, "provisioning/datasources/vapshadow.yaml"), &sources); err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, s := range sources.Datasources {
		types = append(types, s.Type)
		if s.UID == "" || !strings.HasPrefix(s.URL, "${") {
			t.Errorf("%+v: uid is missing, or the address is not from the environment", s)
		}
		for name, value := range s.SecureJSONData {
			if !strings.HasPrefix(value, "${") {
				t.Errorf("%s of %s is not from the environment", name, s.UID)
			}
		}
	}
	for _, d := range dashboards(t) {
		for _, v := range d.Templating.List {
			if v.Type == "datasource" && !slices.Contains(types, v.Query) {
				t.Errorf("%s: no data source of type %s is provisioned", d.UID, v.Query)
			}
		}
	}
	var providers struct {
		Providers []struct{ Options struct{ Path string } }
	}
	if err := yaml.Unmarshal(content(t, "provisioning/dashboards/vapshadow.yaml"), &providers); err != nil {
		t.Fatal(err)
	}
	if len(providers.Providers) != 1 || providers.Providers[0].Options.Path == "" {
		t.Errorf("want one provider with a path: %+v", providers)
	}
}
