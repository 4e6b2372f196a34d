package exception

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// entry reads one exception. One with something wrong is not kept.
func (p *parser) entry(node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		p.wrong(node.Line, "an exception has to be a map of fields")
		return
	}
	before := len(p.errs)
	fields := p.fields(node, "policy", "binding", "cluster", "namespace", "workload", "reason", "approvedBy", "until")
	e := Exception{Line: node.Line}
	e.Policy = p.text(node, fields, "policy", "name the policy that is not met")
	e.Binding = p.text(node, fields, "binding", "")
	e.Cluster = p.text(node, fields, "cluster", "")
	e.Reason = p.text(node, fields, "reason", "say why the failures are accepted")
	e.ApprovedBy = p.text(node, fields, "approvedBy", "say who has accepted them")
	e.Until = p.until(node, fields)
	p.workload(&e, fields["workload"])
	p.namespace(&e, node, fields)
	if len(p.errs) > before {
		return
	}
	about := e
	about.Reason, about.ApprovedBy, about.Until, about.Line = "", "", time.Time{}, 0
	if line, twice := p.places[about]; twice {
		p.wrong(e.Line, "this is the exception of line %d again: keep one of the two", line)
		return
	}
	p.places[about] = e.Line
	p.list = append(p.list, e)
}

// text reads a field. One that has to be there is wrong without a value; needed says then what to write.
func (p *parser) text(entry *yaml.Node, fields map[string]*yaml.Node, name, needed string) string {
	node, ok := fields[name]
	switch {
	case !ok && needed == "":
		return ""
	case !ok:
		p.wrong(entry.Line, "%s is missing: %s", name, needed)
		return ""
	case node.Kind != yaml.ScalarNode || node.Tag != "!!str":
		p.wrong(node.Line, "%s has to be text: put it in quotes", name)
		return ""
	case strings.TrimSpace(node.Value) == "":
		if needed == "" {
			needed = "leave the field out where it is about all"
		}
		p.wrong(node.Line, "%s is empty: %s", name, needed)
		return ""
	}
	return node.Value
}

func (p *parser) until(entry *yaml.Node, fields map[string]*yaml.Node) time.Time {
	node, ok := fields["until"]
	if !ok {
		p.wrong(entry.Line, "until is missing: an exception has a last day, such as 2027-03-31")
		return time.Time{}
	}
	day, err := time.Parse(time.DateOnly, node.Value)
	if node.Kind != yaml.ScalarNode || err != nil {
		p.wrong(node.Line, "until has to be a day such as 2027-03-31, not %q", node.Value)
	}
	return day
}

func (p *parser) workload(e *Exception, node *yaml.Node) {
	if node == nil {
		return
	}
	if node.Kind != yaml.MappingNode {
		p.wrong(node.Line, "workload has to be a map of kind and name; leave it out for the whole namespace")
		return
	}
	fields := p.fields(node, "kind", "name")
	e.Kind = p.text(node, fields, "kind", "name the kind as the report lists it, such as Deployment")
	e.Name = p.text(node, fields, "name", "name the workload as the report lists it, or leave workload out for the whole namespace")
}

// namespace may be empty, where it is said, for a workload that is in none.
func (p *parser) namespace(e *Exception, entry *yaml.Node, fields map[string]*yaml.Node) {
	node, ok := fields["namespace"]
	switch {
	case !ok:
		p.wrong(entry.Line, `namespace is missing: name it, or write "" for a workload that is in none`)
	case node.Kind != yaml.ScalarNode || node.Tag != "!!str":
		p.wrong(node.Line, `namespace has to be text: put it in quotes, "" for a workload that is in none`)
	case node.Value == "" && fields["workload"] == nil:
		p.wrong(node.Line, "namespace is empty, and no workload is named: that would be every object that is in no namespace")
	default:
		e.Namespace = node.Value
	}
}
