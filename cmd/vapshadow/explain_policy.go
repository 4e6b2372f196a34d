package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/internal/pipeline"
)

// verdicts tells of each policy in turn, and of what the apiserver would have annotated.
func (o explanation) verdicts(x *pipeline.Explanation) {
	for i := range x.Policies {
		o.Break()
		o.policy(&x.Policies[i])
	}
	others := map[string][]string{}
	for _, p := range x.Others {
		others[p.Because] = append(others[p.Because], p.Policy)
	}
	if len(others) > 0 {
		o.Break()
	}
	for _, because := range slices.Sorted(maps.Keys(others)) {
		names := others[because]
		what := "no binding names " + these(names, "this policy", "these policies") + " (--unbound evaluates them)"
		if because == "resourceRules" {
			what = "resourceRules of " + these(names, "this policy", "these policies") + " name no such resource, or another operation"
		}
		o.Line(0, "Not looked at, as %s: %s", what, strings.Join(names, ", "))
	}
	if len(x.Annotations) > 0 {
		o.Break()
		o.Line(0, "Audit annotations that the apiserver would have written")
	}
	for _, key := range slices.Sorted(maps.Keys(x.Annotations)) {
		o.Line(1, "%s: %s", key, annotated(key, x.Annotations[key]))
	}
}

// annotated is the value of an annotation; that of validation_failure, which is JSON, in words.
func annotated(key, value string) string {
	var failures []struct {
		Policy          string `json:"policy"`
		Binding         string `json:"binding"`
		ExpressionIndex int    `json:"expressionIndex"`
	}
	if !strings.HasSuffix(key, "/validation_failure") || json.Unmarshal([]byte(value), &failures) != nil {
		return value
	}
	names := make([]string, len(failures))
	for i, f := range failures {
		names[i] = fmt.Sprintf("validation %d of %s (binding %s)", f.ExpressionIndex, f.Policy, f.Binding)
	}
	return strings.Join(names, ", ")
}

func these(names []string, one, many string) string {
	if len(names) == 1 {
		return one
	}
	return many
}

func (o explanation) policy(p *pipeline.ExplainedPolicy) {
	head := fmt.Sprintf("Policy %s, failurePolicy %s", p.Policy, p.FailurePolicy)
	if p.ParamKind != nil {
		head += ", paramKind " + path(p.ParamKind.Group, p.ParamKind.Version, p.ParamKind.Kind)
	}
	if p.State != nil {
		head += fmt.Sprintf(", as it was after %d of the writes that were under way (which state decided is not known)", *p.State)
	}
	o.Line(0, "%s", head)
	o.Line(1, "matchConstraints %s", o.matching(&p.Match))
	for i := range p.Evaluations {
		o.evaluation(1, &p.Evaluations[i])
	}
	for i := range p.Bindings {
		o.binding(&p.Bindings[i])
	}
}

// matching says whether something matched, and why.
func (o explanation) matching(m *pipeline.ExplainedMatch) string {
	var out string
	switch m.Result {
	case "Yes":
		out = "match"
		if m.Rule != nil {
			out += fmt.Sprintf(", by %s[%d]", m.By, *m.Rule)
		}
		if m.As != nil {
			out += " as the equivalent " + path(m.As.Resource.Group, m.As.Resource.Version, m.As.Resource.Resource)
		}
	case "No":
		out = "do not match, by " + m.By
		if m.Rule != nil {
			out += fmt.Sprintf("[%d]", *m.Rule)
		}
	case "Unknown":
		return fmt.Sprintf("may match or not, by %s: hangs on %s: %s", m.By, strings.Join(m.Unknown, ", "), o.reason(string(m.Because), o.resource))
	default:
		out = "cannot be matched"
	}
	if m.Detail != "" {
		out += ": " + m.Detail
	}
	return out
}

func (o explanation) binding(b *pipeline.ExplainedBinding) {
	o.Line(1, "Binding %s [%s]", b.Binding, strings.Join(b.ValidationActions, ", "))
	if b.Match.By != "" || b.Match.Detail != "" || b.Match.Result != "Yes" {
		o.Line(2, "matchResources %s", o.matching(&b.Match))
	}
	if b.Params != nil && *b.Params == 0 && len(b.Evaluations) == 0 {
		o.Line(2, "paramRef finds no params, and parameterNotFoundAction is Allow: nothing is evaluated")
	}
	for i := range b.Evaluations {
		o.evaluation(2, &b.Evaluations[i])
	}
}

func (o explanation) evaluation(level int, e *pipeline.ExplainedEvaluation) {
	if p := e.Params; p != nil {
		o.Line(level, "params %s: %s", path(p.Namespace, p.Name), o.known(string(p.Level), string(p.Because), false, "params"))
		o.unknownParts(level+1, 0, p.Unknown, "params")
	}
	o.Line(level, "%s", headline(e))
	level++
	for _, err := range []struct{ what, text string }{{"configuration error", e.ConfigError}, {"audit annotation error", e.AnnotationError}} {
		if err.text != "" {
			o.Line(level, "%s: %s", err.what, err.text)
		}
	}
	if len(e.Unknown) > 0 {
		o.Line(level, "hangs on %s", o.hangsOn(e.Unknown, string(e.Because)))
	}
	o.phase(level, "match condition", e.MatchConditions)
	o.phase(level, "validation", e.Validations)
	o.phase(level, "messageExpression", e.MessageExpressions)
	o.phase(level, "audit annotation", e.AuditAnnotations)
	o.unlisted(level, e)
	o.budgets(level, e)
}

// headline is the result of an evaluation with what follows from it.
func headline(e *pipeline.ExplainedEvaluation) string {
	out := "Result " + string(e.Result)
	if e.Result == "Skipped" {
		return out + ": a match condition says that the validations are not looked at"
	}
	if e.Evidence == "Presumed" {
		out += ", on inputs that are presumed"
	}
	switch e.Effect {
	case "Deny":
		out += "; the request is rejected"
	case "":
	default:
		out += "; the effect is " + e.Effect
	}
	if e.BlocksAnyway {
		return out + " whatever validationActions say"
	}
	switch e.EffectIfDeny {
	case "Deny":
		if e.Effect != "Deny" {
			out += "; bound as [Deny] it would reject the request"
		}
	case "Unknown":
		out += "; bound as [Deny] it could reject the request"
	default:
		out += "; bound as [Deny] it would let the request through"
	}
	return out
}

func (o explanation) hangsOn(on []string, because string) string {
	var once []string
	for _, attribute := range on {
		if !slices.Contains(once, attribute) {
			once = append(once, attribute)
		}
	}
	if because == "" {
		return strings.Join(once, ", ")
	}
	return strings.Join(once, ", ") + ": " + o.reason(because, o.resource)
}
