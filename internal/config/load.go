package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Default is what holds where the configuration says nothing.
func Default() *Config {
	return &Config{
		Name: "vapshadow", Store: "sqlite:vapshadow.db", Listen: "127.0.0.1:9080", PoliciesEvery: 10 * time.Second,
		TeamLabel:       TeamLabel,
		Limits:          Limits{HistoryBytes: 256 << 20, QueueBytes: 32 << 20},
		CheckpointEvery: time.Minute, ShutdownTimeout: 20 * time.Second,
		Log: Log{Level: "info", Format: "text"},
	}
}

// TeamLabel is the label of Namespaces that names their team where nothing else is said. Where nobody uses it, nothing comes
// of it; where somebody does, what it says is what it means.
const TeamLabel = "team"

// Load reads a file and checks it. "${NAME}" in a value stands for the environment variable NAME, "$${" for "${" itself.
// An error names the file, and the line where one is to blame.
func Load(file string, env func(string) (string, bool)) (*Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	c, err := Parse(data, env)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// Parse reads a configuration and checks it.
func Parse(data []byte, env func(string) (string, bool)) (*Config, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		return nil, tidy(err)
	}
	// The fields are checked on the text, where they have lines, and read from what the environment has been put into.
	strict := yaml.NewDecoder(bytes.NewReader(data))
	strict.KnownFields(true)
	if err := strict.Decode(new(Config)); err != nil && !errors.Is(err, io.EOF) {
		if !onlyValues(err) {
			return nil, tidy(err)
		}
	}
	if err := expand(&node, env); err != nil {
		return nil, err
	}
	c := Default()
	if node.Kind != 0 {
		if err := node.Decode(c); err != nil {
			return nil, tidy(err)
		}
	}
	return c, c.Check()
}

// onlyValues says whether all that is wrong may be a value that the environment has yet to give.
func onlyValues(err error) bool {
	typed, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return true // an error of a value's own
	}
	for _, e := range typed.Errors {
		if strings.Contains(e, "not found in type") || strings.Contains(e, "already") {
			return false
		}
	}
	return true
}

var (
	inType  = regexp.MustCompile(` in type config\.\w+`)
	goType  = regexp.MustCompile("cannot unmarshal !!(\\w+) (?:`([^`]*)` )?into (\\S+)")
	typesOf = map[string]string{"time.Duration": "a duration such as 30s or 10m", "config.Bytes": "a number of bytes such as 256Mi", "bool": "true or false", "int": "a number"}
)

// tidy puts an error of the decoder into words that a person who never saw the code understands.
func tidy(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	text = inType.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, " not found", " is not known")
	text = goType.ReplaceAllStringFunc(text, func(s string) string {
		m := goType.FindStringSubmatch(s)
		want, ok := typesOf[m[3]]
		switch {
		case ok:
		case strings.HasPrefix(m[3], "[]"):
			want = "a list"
		case m[3] == "string":
			want = "text"
		default:
			want = "a map of fields"
		}
		if m[2] != "" {
			return fmt.Sprintf("%q is not %s", m[2], want)
		}
		return fmt.Sprintf("this has to be %s", want)
	})
	return errors.New(strings.ReplaceAll(text, "\n  ", "\n"))
}

var reference = regexp.MustCompile(`\$\$\{|\$\{[^}]*\}?`)

// expand puts the environment into the values.
func expand(node *yaml.Node, env func(string) (string, bool)) error {
	if node.Kind == yaml.ScalarNode {
		return expandScalar(node, env)
	}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			continue // a key
		}
		if err := expand(child, env); err != nil {
			return err
		}
	}
	return nil
}

func expandScalar(node *yaml.Node, env func(string) (string, bool)) error {
	var failed error
	value := reference.ReplaceAllStringFunc(node.Value, func(s string) string {
		if s == "$${" {
			return "${"
		}
		name, closed := strings.CutSuffix(strings.TrimPrefix(s, "${"), "}")
		value, set := env(name)
		switch {
		case !closed || name == "":
			failed = fmt.Errorf("line %d: %q is no reference to an environment variable: write ${NAME}, or $${ for the characters themselves", node.Line, s)
		case !set:
			failed = fmt.Errorf("line %d: the environment variable %s is not set", node.Line, name)
		}
		return value
	})
	if value != node.Value {
		node.Value = value
		if node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
			node.Tag = "" // ${COUNT} may be a number
		}
	}
	return failed
}
