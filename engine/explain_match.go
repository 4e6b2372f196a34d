package engine

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/vapshadow/vapshadow/replay"
)

// answerNames are written in place of answers.
var answerNames = map[answer]string{no: "No", yes: "Yes", unknown: "Unknown", misconfigured: "Error"}

// explain puts an answer of matches into words.
func (c *criteria) explain(m match, as target, req *replay.Request) ExplainedMatch {
	out := ExplainedMatch{Result: answerNames[m.is], By: m.by, Because: m.because}
	if m.on != "" {
		out.Unknown = []string{m.on}
	}
	switch {
	case m.is == misconfigured:
		out.Detail = m.err.Error()
	case m.is == yes && len(c.rules) == 0:
		out.By, out.Detail = "", "there are no resourceRules"
	case m.is == yes:
		out.Rule = &m.rule
		if as.resource != req.Resource {
			out.As = &ExplainedTarget{Resource: Resource(as.resource), Kind: Kind(as.kind)}
		}
	case m.is == no:
		out.Detail = c.whyNot(m, req)
		if m.by == byExcludes {
			out.Rule = &m.rule
		}
	}
	return out
}

// whyNot says what of the request does not fit.
func (c *criteria) whyNot(m match, req *replay.Request) string {
	switch m.by {
	case byNamespaceSelector:
		whose, object := fmt.Sprintf("the labels of namespace %s", req.Namespace), req.View.Namespace(req.Namespace)
		if req.Resource.Resource == "namespaces" && req.SubResource == "" && req.Operation != replay.Delete {
			whose, object = "the labels of the Namespace itself", req.Object
		}
		return fmt.Sprintf("%s does not select %s: %s", c.namespaces, whose, labelsShown(object))
	case byObjectSelector:
		return fmt.Sprintf("%s selects neither the labels of object (%s) nor those of oldObject (%s)",
			c.objects, labelsShown(req.Object), labelsShown(req.OldObject))
	case byExcludes:
		return "the rule takes the request out"
	default:
		return c.noRule(req)
	}
}

func labelsShown(o replay.Object) string {
	set := labelSet(o.Content)
	switch {
	case o.Null():
		return "null"
	case len(set) == 0:
		return "none"
	default:
		return set.String()
	}
}

// noRule says for each rule what it is for that the request is not.
func (c *criteria) noRule(req *replay.Request) string {
	var out []string
	for i := range c.rules {
		out = append(out, fmt.Sprintf("resourceRules[%d] is for %s", i, ruleMiss(&c.rules[i], req)))
	}
	return strings.Join(out, "; ")
}

// ruleMiss names what of a rule does not fit the request's own resource.
func ruleMiss(rule *admissionv1.NamedRuleWithOperations, req *replay.Request) string {
	r := &rule.RuleWithOperations
	switch {
	case !matchResource(r.Resources, req.Resource.Resource, req.SubResource):
		return "resources " + strings.Join(r.Resources, ", ")
	case !anyOf(r.APIGroups, req.Resource.Group):
		return "apiGroups " + strings.Join(quotedEmpty(r.APIGroups), ", ")
	case !anyOf(r.APIVersions, req.Resource.Version):
		return "apiVersions " + strings.Join(r.APIVersions, ", ")
	case !matchOperation(r, req.Operation) && (!req.OrCreate || !matchOperation(r, replay.Create)):
		operations := make([]string, len(r.Operations))
		for i, o := range r.Operations {
			operations[i] = string(o)
		}
		return "operations " + strings.Join(operations, ", ")
	case !matchScope(r.Scope, req.Namespace, req.Resource):
		return "scope " + string(*r.Scope)
	default:
		return "resourceNames " + strings.Join(rule.ResourceNames, ", ")
	}
}

func quotedEmpty(names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		if name == "" {
			out[i] = `""`
		}
	}
	return out
}
