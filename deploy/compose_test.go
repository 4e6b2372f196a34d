package deploy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/internal/config"
)

// project is docker-compose.yml, as the library that docker compose is made of reads it.
type project struct {
	Services map[string]service
	Volumes  map[string]any
}

type service struct {
	Image       string
	Build       any
	Command     []string
	ReadOnly    bool `json:"read_only"`
	Environment map[string]string
	DependsOn   map[string]struct{ Condition string } `json:"depends_on"`
	Healthcheck *struct{ Test []string }
	Ports       []struct {
		HostIP    string `json:"host_ip"`
		Published string
	}
	Volumes []struct {
		Type, Source, Target string
		ReadOnly             bool `json:"read_only"`
	}
}

// compose has the file checked against the Compose Specification, and for references that lead nowhere.
func compose(t *testing.T) (p project) {
	t.Helper()
	out := tool(t, "..", "github.com/compose-spec/compose-go/v2/cmd", "-format=json", "docker-compose.yml")
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Services) == 0 {
		t.Fatalf("there are no services in %s", out)
	}
	return p
}

var pinned = regexp.MustCompile(`^[a-z/]+:v?[0-9]+\.[0-9]+(\.[0-9]+)?(-[a-z]+)?$`)

func TestCompose(t *testing.T) {
	p := compose(t)
	waited := map[string]string{}
	for name, s := range p.Services {
		for on, d := range s.DependsOn {
			waited[on] = d.Condition
			if d.Condition == "service_healthy" && p.Services[on].Healthcheck == nil {
				t.Errorf("%s waits for %s to be healthy, which has no healthcheck", name, on)
			}
		}
	}
	for name, s := range p.Services {
		if !pinned.MatchString(s.Image) && s.Image != "vapshadow:demo" {
			t.Errorf("%s: the image %s has no fixed version", name, s.Image)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to others than this machine", name, port.Published)
			}
		}
		for _, v := range s.Volumes {
			if v.Type != "bind" {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !v.ReadOnly {
				t.Errorf("%s: %s could be written to", name, v.Source)
			}
		}
		if s.Image == "vapshadow:demo" && !s.ReadOnly {
			t.Errorf("%s: the root file system could be written to", name)
		}
		if s.Healthcheck == nil && waited[name] != "service_completed_successfully" && name != "forward" {
			t.Errorf("%s runs on and has no healthcheck", name)
		}
	}
}

// The configurations are good, with the environment that their service gets.
func TestComposeConfigurations(t *testing.T) {
	p := compose(t)
	for _, name := range []string{"vapshadow", "forward"} {
		s := p.Services[name]
		i := slices.Index(s.Command, "--config")
		if i < 0 {
			t.Fatalf("%s has no --config: %v", name, s.Command)
		}
		file := mounted(t, s, s.Command[i+1])
		c, err := config.Load(file, func(name string) (string, bool) { v, ok := s.Environment[name]; return v, ok })
		if err != nil {
			t.Fatal(err)
		}
		paths := slices.Clone(c.Policies)
		for _, cluster := range c.Clusters {
			paths = append(paths, cluster.Snapshot...)
		}
		for _, source := range c.Sources {
			if source.File != nil {
				paths = append(paths, source.File.Paths...)
			}
		}
		if len(paths) == 0 {
			t.Errorf("%s reads no files", file)
		}
		for _, path := range paths {
			mounted(t, s, path)
		}
		if name == "forward" && (c.Forward == nil || !strings.Contains(strings.Join(p.Services["topic"].Command, " "), "--topic="+c.Forward.Topic)) {
			t.Errorf("%s writes to a topic that nobody makes: %+v", file, c.Forward)
		}
	}
}

// Grafana gets every variable that its provisioning names.
func TestComposeGrafana(t *testing.T) {
	s := compose(t).Services["grafana"]
	text := content(t, "../dashboards/grafana/provisioning/datasources/vapshadow.yaml")
	names := regexp.MustCompile(`\$\{(VAPSHADOW_\w+)\}`).FindAllStringSubmatch(text, -1)
	if len(names) == 0 {
		t.Fatal("the provisioning names no variables")
	}
	for _, m := range names {
		if s.Environment[m[1]] == "" {
			t.Errorf("grafana lacks %s", m[1])
		}
	}
	path := regexp.MustCompile(`path: (\S+)`).FindStringSubmatch(content(t, "../dashboards/grafana/provisioning/dashboards/vapshadow.yaml"))
	if files, _ := filepath.Glob(filepath.Join(mounted(t, s, path[1]), "*.json")); len(files) == 0 {
		t.Errorf("there are no dashboards where Grafana looks for them, in %s", path[1])
	}
}

// mounted is the file of this machine that a service sees under a path.
func mounted(t *testing.T, s service, path string) string {
	t.Helper()
	for _, v := range s.Volumes {
		if rest, ok := strings.CutPrefix(path, v.Target); ok && v.Type == "bind" {
			return v.Source + rest
		}
	}
	t.Fatalf("%s is not mounted", path)
	return ""
}
