package exception

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// List are the exceptions of a file, in its order.
type List []Exception

// Load reads a file of exceptions. An error names the file and the lines that are wrong, all of them.
func Load(file string) (List, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the exceptions: %w", err)
	}
	return Parse(file, data)
}

// Parse reads exceptions; name is how errors call the file. A list without entries is empty, not nil.
func Parse(name string, data []byte) (List, error) {
	p := &parser{name: name, places: map[Exception]int{}, list: List{}}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		p.wrong(1, "the file is empty: it needs a list named exceptions")
	case err != nil:
		p.syntax(err)
	default:
		p.file(document.Content[0])
		if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
			p.wrong(1, "there is more than one YAML document: put all exceptions into one list")
		}
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return p.list, nil
}

type parser struct {
	name string
	list List
	// places has the line of each exception, by what it is about.
	places map[Exception]int
	errs   []error
}

func (p *parser) wrong(line int, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d: %s", p.name, line, fmt.Sprintf(format, args...)))
}

var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (p *parser) syntax(err error) {
	line := 1
	if m := syntaxLine.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		line, _ = strconv.Atoi(m[1]) // they are digits
	}
	p.wrong(line, "this is no YAML: %s", syntaxLine.ReplaceAllString(err.Error(), ""))
}

func (p *parser) file(node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		p.wrong(max(node.Line, 1), "the file has to hold a list named exceptions")
		return
	}
	fields := p.fields(node, "exceptions")
	list, ok := fields["exceptions"]
	switch {
	case !ok:
		p.wrong(node.Line, "there is no list named exceptions")
	case list.Kind == yaml.ScalarNode && list.Tag == "!!null":
		// A list that has become empty.
	case list.Kind != yaml.SequenceNode:
		p.wrong(list.Line, "exceptions has to be a list")
	default:
		for _, entry := range list.Content {
			p.entry(entry)
		}
	}
}

// fields are those of a map. One that is not known, or there twice, is wrong.
func (p *parser) fields(node *yaml.Node, known ...string) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		found := false
		for _, name := range known {
			found = found || key.Kind == yaml.ScalarNode && key.Value == name
		}
		switch {
		case !found:
			p.wrong(key.Line, "the field %q is not known: there are %q", key.Value, known)
		case out[key.Value] != nil:
			p.wrong(key.Line, "the field %s is there twice", key.Value)
		default:
			out[key.Value] = value
		}
	}
	return out
}
