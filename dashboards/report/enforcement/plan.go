// Package enforcement plans which bindings can be set to [Deny] today, and in which namespaces, so that nothing that was
// seen would be denied.
package enforcement

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/dashboards/report/exception"
	"github.com/vapshadow/vapshadow/sink"
)

// Plan is a step for each binding of one cluster, ordered by policy and binding.
type Plan struct {
	Cluster  string
	Criteria sink.Criteria
	Steps    []Step

	exceptions exception.List
	asOf       time.Time
}

// Step is what can be done with a binding.
type Step struct {
	sink.Readiness
	// Deny is the binding that denies, Rest the one that keeps the actions elsewhere; nil for none.
	Deny, Rest map[string]any
	// Why says why the step is what it is.
	Why string
	// Clean are the namespaces that Deny covers, where it does not cover all; Others those that it leaves out.
	Clean, Others []sink.Readiness
}

// Make reads a store. It changes nothing, in the store or in a cluster.
func Make(ctx context.Context, r sink.Reader, f sink.Filter, c sink.Criteria) (*Plan, error) {
	list, err := r.Readiness(ctx, f, c)
	if err != nil {
		return nil, err
	}
	p := &Plan{Criteria: c.WithDefaults()}
	for i, one := range list {
		if i == 0 {
			p.Cluster = one.Cluster
		}
		if one.Cluster != p.Cluster {
			return nil, fmt.Errorf("a plan is for one cluster, and there are %q and %q: choose one with --cluster", p.Cluster, one.Cluster)
		}
	}
	// How long the policy was watched is told by all that matched, not by one namespace.
	c.Days = -1
	spaces, err := r.ReadinessByNamespace(ctx, f, c)
	if err != nil {
		return nil, err
	}
	texts, err := bindings(ctx, r, p.Cluster)
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		step, err := plan(one, namespacesOf(one, spaces), texts, p.Criteria)
		if err != nil {
			return nil, err
		}
		p.Steps = append(p.Steps, step)
	}
	return p, nil
}

func namespacesOf(b sink.Readiness, all []sink.Readiness) (out []sink.Readiness) {
	for _, n := range all {
		if n.Policy == b.Policy && n.Binding == b.Binding {
			out = append(out, n)
		}
	}
	return out
}

// bindingName names a text of a binding.
type bindingName struct{ name, hash string }

func bindings(ctx context.Context, r sink.Reader, cluster string) (map[bindingName]string, error) {
	out := map[bindingName]string{}
	for t, err := range r.Policies(ctx, sink.Filter{Cluster: cluster}) {
		if err != nil {
			return nil, fmt.Errorf("reading the bindings: %w", err)
		}
		if t.Cluster == cluster && t.Kind == "ValidatingAdmissionPolicyBinding" {
			out[bindingName{t.Name, t.Hash}] = t.Text
		}
	}
	return out, nil
}

// plan decides what is done with a binding.
func plan(b sink.Readiness, spaces []sink.Readiness, texts map[bindingName]string, c sink.Criteria) (Step, error) {
	s := Step{Readiness: b, Why: b.Sentence()}
	if b.Binding == "" || b.Verdict == sink.Misconfigured || b.Verdict == sink.NotEnoughEvidence {
		return s, nil
	}
	text, known := texts[bindingName{b.Binding, b.BindingHash}]
	if !known {
		s.Why += ", but its text is not stored"
		return s, nil
	}
	binding, err := parse(text)
	switch {
	case err != nil:
		return s, fmt.Errorf("reading the stored text of the binding %s: %w", b.Binding, err)
	case binding.denies():
		s.Why += "; it denies already"
		return s, nil
	case b.Verdict == sink.Ready:
		s.Deny = binding.object
		binding.setActions("Deny")
		return s, nil
	}
	return s.split(text, spaces, texts, c)
}

// split takes the clean namespaces out of a binding that would break workloads.
func (s Step) split(text string, spaces []sink.Readiness, texts map[bindingName]string, c sink.Criteria) (Step, error) {
	var clustered *sink.Readiness
	for i, n := range spaces {
		switch {
		case n.Namespace == "":
			clustered = &spaces[i]
		case n.Verdict == sink.Ready:
			s.Clean = append(s.Clean, n)
		default:
			s.Others = append(s.Others, n)
		}
	}
	c.Coverage = -1 // asked of each namespace by itself
	lacks := s.Lacks(c)
	switch {
	case len(lacks) > 0:
		s.Why += fmt.Sprintf("; not split, since there is not enough evidence: %s", strings.Join(lacks, "; "))
	case clustered != nil && clustered.Verdict != sink.Ready:
		// A namespaceSelector matches an object that is in no namespace always.
		s.Why += "; not split, since a binding that is narrowed to namespaces holds for cluster-scoped objects too, and of those: " +
			clustered.Sentence()
	case len(s.Clean) == 0:
		s.Why += "; no namespace is clean"
	default:
		return s.divided(text, texts)
	}
	s.Clean, s.Others = nil, nil
	return s, nil
}

func (s Step) divided(text string, texts map[bindingName]string) (Step, error) {
	deny, err := parse(text)
	if err != nil {
		return s, err
	}
	rest, err := parse(text)
	if err != nil {
		return s, err
	}
	var names []any
	for _, n := range s.Clean {
		names = append(names, n.Namespace)
	}
	deny.setActions("Deny")
	deny.rename(freeName(s.Binding, texts))
	deny.narrow("In", names)
	rest.narrow("NotIn", names)
	s.Deny, s.Rest = deny.object, rest.object
	return s, nil
}

// freeName is a name for the part of a binding that denies.
func freeName(binding string, texts map[bindingName]string) string {
	taken := map[string]bool{}
	for t := range texts {
		taken[t.name] = true
	}
	const longest = 253 - len("-enforced-99")
	base := binding[:min(longest, len(binding))] + "-enforced"
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

func parse(text string) (*binding, error) {
	b := &binding{}
	if err := json.Unmarshal([]byte(text), &b.object); err != nil {
		return nil, err
	}
	var ok bool
	if b.spec, ok = b.object["spec"].(map[string]any); !ok {
		return nil, fmt.Errorf("there is no spec")
	}
	return b, nil
}
