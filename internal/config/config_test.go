package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/internal/config"
)

func environment(name string) (string, bool) {
	value, ok := map[string]string{
		"VAPSHADOW_STORE": "sqlite:a.db", "VAPSHADOW_KAFKA_PASSWORD": "secret: with a colon", "WORKERS": "3",
	}[name]
	return value, ok
}

func TestBad(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bad.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for line := range strings.Lines(string(data)) {
				text, ok := strings.CutPrefix(line, "# ")
				if !ok {
					break
				}
				want = append(want, strings.TrimSuffix(text, "\n"))
			}
			_, err = config.Load(file, environment)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(file+": "+strings.Join(want, "\n"), err.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestGood(t *testing.T) {
	files, err := filepath.Glob("testdata/*.good.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		if _, err := config.Load(file, environment); err != nil {
			t.Error(err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	c, err := config.Load("testdata/environment.good.yaml", environment)
	if err != nil {
		t.Fatal(err)
	}
	if want := "postgres://u:sqlite:a.db@db/${x}"; c.Store != want || c.Workers != 3 {
		t.Errorf("store %q, workers %d; want %q, 3", c.Store, c.Workers, want)
	}
}

// TestExample: the example is good, has every field, and shows the defaults.
func TestExample(t *testing.T) {
	c, err := config.Parse([]byte(config.Example), environment)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Sources[0].Kafka.SASL.Password; got != "secret: with a colon" {
		t.Errorf("the password is %q", got)
	}
	for _, field := range fieldsOf(t) {
		if !strings.Contains(config.Example, field+":") {
			t.Errorf("the example does not show %s", field)
		}
	}
	d := config.Default()
	if diff := cmp.Diff(d.Limits, c.Limits); diff != "" {
		t.Errorf("limits are not the defaults: %s", diff)
	}
	if c.CheckpointEvery != d.CheckpointEvery || c.ShutdownTimeout != d.ShutdownTimeout || c.Listen != d.Listen || c.Name != d.Name || c.TeamLabel != d.TeamLabel || c.Log != d.Log {
		t.Error("the example shows what is not the default")
	}
}
