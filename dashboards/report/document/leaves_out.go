package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// LeftOut is something that a policy or a binding leaves out by itself: an exception that the apiserver does know.
type LeftOut struct {
	// By is "policy" or "binding", Field the one that says so.
	By    string `json:"by"`
	Field string `json:"field"`
	// Text says in words what is left out, or what alone is matched.
	Text string `json:"text"`
}

func (l *LeftOut) line() string { return "the " + l.By + " " + plain(l.Text) }

// matching is what policies and bindings have in common; the former calls it matchConstraints, the latter matchResources.
type matching struct {
	ExcludeResourceRules []resourceRule `json:"excludeResourceRules"`
	NamespaceSelector    *selector      `json:"namespaceSelector"`
	ObjectSelector       *selector      `json:"objectSelector"`
}

type resourceRule struct {
	APIGroups     []string `json:"apiGroups"`
	APIVersions   []string `json:"apiVersions"`
	Operations    []string `json:"operations"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames"`
	Scope         string   `json:"scope"`
}

type selector struct {
	MatchLabels      map[string]string `json:"matchLabels"`
	MatchExpressions []struct {
		Key      string   `json:"key"`
		Operator string   `json:"operator"`
		Values   []string `json:"values"`
	} `json:"matchExpressions"`
}

type excluding struct {
	Spec struct {
		MatchConstraints matching `json:"matchConstraints"`
		MatchResources   matching `json:"matchResources"`
		MatchConditions  []struct {
			Name       string `json:"name"`
			Expression string `json:"expression"`
		} `json:"matchConditions"`
	} `json:"spec"`
}

// leftOut reads what a policy and its binding leave out from their texts. A text that is not stored, or cannot be read,
// tells nothing; the latter is said.
func leftOut(policyText, bindingText string) []LeftOut {
	var out []LeftOut
	for _, of := range []struct{ by, field, text string }{{"policy", "matchConstraints", policyText}, {"binding", "matchResources", bindingText}} {
		if of.text == "" {
			continue
		}
		var e excluding
		if err := json.Unmarshal([]byte(of.text), &e); err != nil {
			out = append(out, LeftOut{of.by, "", "has a text that cannot be read, so that it is not known what it leaves out"})
			continue
		}
		if of.by == "binding" {
			out = append(out, e.Spec.MatchResources.leftOut(of.by, of.field)...)
			continue
		}
		out = append(out, e.Spec.MatchConstraints.leftOut(of.by, of.field)...)
		for _, c := range e.Spec.MatchConditions {
			out = append(out, LeftOut{of.by, "matchConditions", fmt.Sprintf("leaves out requests of which the condition %s does not hold: %s", c.Name, c.Expression)})
		}
	}
	return out
}

func (m *matching) leftOut(by, field string) (out []LeftOut) {
	for i := range m.ExcludeResourceRules {
		out = append(out, LeftOut{by, field + ".excludeResourceRules", "leaves out " + m.ExcludeResourceRules[i].words()})
	}
	if labels := m.NamespaceSelector.words(); labels != "" {
		out = append(out, LeftOut{by, field + ".namespaceSelector", "leaves out namespaces, and all that is in them, unless " + labels})
	}
	if labels := m.ObjectSelector.words(); labels != "" {
		out = append(out, LeftOut{by, field + ".objectSelector", "leaves out requests unless on the object, or on the one before it, " + labels})
	}
	return out
}

// words: "CREATE and UPDATE of deployments in apps/v1".
func (r *resourceRule) words() string {
	groups := slices.Clone(r.APIGroups)
	for i, g := range groups {
		if g == "" {
			groups[i] = "the core group"
		}
	}
	text := fmt.Sprintf("%s of %s in %s, version %s", all(r.Operations, "every operation"), all(r.Resources, "all resources"),
		all(groups, "all groups"), all(r.APIVersions, "any"))
	if len(r.ResourceNames) > 0 {
		text += ", named " + strings.Join(r.ResourceNames, " or ")
	}
	switch r.Scope {
	case "Cluster":
		text += ", where it is in no namespace"
	case "Namespaced":
		text += ", where it is in a namespace"
	}
	return text
}

// all joins a list; "*" in it stands for all.
func all(list []string, every string) string {
	if slices.Contains(list, "*") {
		return every
	}
	return strings.Join(list, " and ")
}

// words are the conditions of a selector, all of which have to hold; empty where it selects everything.
func (s *selector) words() string {
	if s == nil {
		return ""
	}
	var parts []string
	for key, value := range s.MatchLabels {
		parts = append(parts, fmt.Sprintf("the label %s is %q", key, value))
	}
	slices.Sort(parts)
	for _, e := range s.MatchExpressions {
		values := strings.Join(e.Values, ", ")
		switch e.Operator {
		case "In":
			parts = append(parts, fmt.Sprintf("the label %s is one of %s", e.Key, values))
		case "NotIn":
			parts = append(parts, fmt.Sprintf("the label %s is none of %s", e.Key, values))
		case "Exists":
			parts = append(parts, fmt.Sprintf("there is a label %s", e.Key))
		case "DoesNotExist":
			parts = append(parts, fmt.Sprintf("there is no label %s", e.Key))
		default:
			parts = append(parts, fmt.Sprintf("the label %s is %s %s", e.Key, e.Operator, values))
		}
	}
	return strings.Join(parts, " and ")
}
