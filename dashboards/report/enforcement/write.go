package enforcement

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/sink"
)

// Write writes the plan as YAML to be applied, with what it rests on as comments. A binding that is best left as it is is
// a comment only.
func (p *Plan) Write(w io.Writer, versions, period string) error {
	var out bytes.Buffer
	comment(&out, "Which bindings can be set to [Deny], so that nothing that was seen would be denied.")
	comment(&out, "%s", period)
	comment(&out, "A binding is ready after %d days with %g%% decided. Made by %s.", max(p.Criteria.Days, 0), max(p.Criteria.Coverage, 0), versions)
	if p.Cluster != "" {
		comment(&out, "The cluster is %s.", p.Cluster)
	}
	comment(&out, "A namespace in which nothing matched keeps the actions that there are now, wherever a binding is split.")
	p.writeForeign(&out)
	for i := range p.Steps {
		if err := p.write(&out, &p.Steps[i]); err != nil {
			return err
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

func (p *Plan) write(out *bytes.Buffer, s *Step) error {
	out.WriteString("---\n")
	comment(out, "policy %s, binding %s: %s", s.Policy, s.Binding, s.Why)
	comment(out, "  %s", evidence(s.Readiness))
	p.writeExceptions(out, s)
	if s.Deny == nil {
		comment(out, "  left as it is")
		return nil
	}
	comment(out, "  it matched last at %s: where it was deleted since, do not apply this", s.Last.Format(time.RFC3339))
	if s.Rest == nil {
		return object(out, s.Deny)
	}
	comment(out, "  the clean namespaces, which deny:")
	for _, n := range s.Clean {
		comment(out, "    %s: %s", named(n), evidence(n))
	}
	if err := object(out, s.Deny); err != nil {
		return err
	}
	out.WriteString("---\n")
	comment(out, "the rest of policy %s, binding %s, with the actions of now", s.Policy, s.Binding)
	for _, n := range s.Others {
		comment(out, "    %s: %s (%s)", named(n), n.Sentence(), evidence(n))
	}
	return object(out, s.Rest)
}

// named is a namespace, with whose it is.
func named(n sink.Readiness) string {
	if n.Team == "" {
		return n.Namespace
	}
	return n.Namespace + " of team " + n.Team
}

func evidence(r sink.Readiness) string {
	out := fmt.Sprintf("%d matched, %s decided, %d would fail", r.Matched, r.Percent(), r.WouldFail)
	if r.Repeats > 0 {
		out += fmt.Sprintf(" (%d of them repeat)", r.Repeats)
	}
	if r.SystemActors > 0 {
		out += fmt.Sprintf(", users of the system itself among those hit: %d", r.SystemActors)
	}
	return out
}

func object(out *bytes.Buffer, o map[string]any) error {
	text, err := yaml.Marshal(o)
	if err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	out.Write(text)
	return nil
}

// comment writes one line. Whatever a name holds, nothing of it gets out of the comment.
func comment(out *bytes.Buffer, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
		line = strconv.Quote(line)
	}
	out.WriteString("# " + line + "\n")
}
