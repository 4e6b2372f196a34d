package engine

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/replay"
)

// ExplainedPhase are expressions that share a cost budget.
type ExplainedPhase struct {
	Expressions []ExplainedExpression `json:"expressions"`
	// Budget and Left are in units of CEL cost.
	Budget int64 `json:"budget"`
	Left   int64 `json:"left"`
	// Uncertain is what unknown expressions may have cost on top.
	Uncertain int64 `json:"uncertain,omitempty"`
	// Ended is the error that ended the phase: the expressions after it were not evaluated.
	Ended string `json:"ended,omitempty"`
}

// ExplainedExpression is a CEL expression and what it came to: a value, an error, or unknown.
type ExplainedExpression struct {
	// Name is that of a match condition or variable, the key of an audit annotation; Index that of a validation.
	Name       string `json:"name,omitempty"`
	Index      *int   `json:"expressionIndex,omitempty"`
	Expression string `json:"expression"`
	// NotEvaluated: the phase ended before, or nothing hung on it.
	NotEvaluated bool `json:"notEvaluated,omitempty"`
	// Result is that of a validation.
	Result Result `json:"result,omitempty"`
	Type   string `json:"type,omitempty"`
	// Value is written as in CEL, and cut where it is long.
	Value   string        `json:"value,omitempty"`
	Error   string        `json:"error,omitempty"`
	Unknown []string      `json:"unknown,omitempty"`
	Because replay.Reason `json:"because,omitempty"`
	// Cost is what evaluation cost, without Variables; nil where it is not known.
	Cost    *int64 `json:"cost,omitempty"`
	Message string `json:"message,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Variables are those that this expression was the first of its phase to read.
	Variables []ExplainedExpression `json:"variables,omitempty"`
}

// explainEvaluation tells of an evaluation; the trace is nil where it did not come to any expression.
func explainEvaluation(e *Evaluation, t *evaluationTrace) ExplainedEvaluation {
	out := ExplainedEvaluation{
		Result: e.Result, Evidence: e.Evidence, Effect: e.Effect, EffectIfDeny: e.effectIfDeny(), BlocksAnyway: e.BlocksAnyway,
		ConfigError: e.ConfigError, AnnotationError: e.AnnotationError, Unknown: e.Unknown, Because: e.Because,
	}
	for _, v := range e.Verdicts {
		out.Verdicts = append(out.Verdicts, ExplainedVerdict(v))
	}
	if e.Params != nil {
		out.Params = &ExplainedParams{Namespace: e.Params.Namespace, Name: e.Params.Name, Level: replay.Missing, Because: e.Because}
	}
	if t == nil {
		return out
	}
	if out.Params != nil && t.params != nil {
		out.Params.Level, out.Params.Because = t.params.Level, t.params.Because
		out.Params.Unknown = explainUnknown(t.params.Unknown)
	}
	c := t.run.policy
	out.MatchConditions = t.explain(namedExpressions(c.matchConditions))
	out.Validations = t.explain(validationExpressions(c, e))
	out.MessageExpressions = t.explain(messageExpressions(c))
	out.AuditAnnotations = t.explain(namedExpressions(c.annotations))
	out.Validations.settle(e)
	return out
}

// settle gives the validations their results: the verdicts, and where there is none, what the expression came to.
func (p *ExplainedPhase) settle(e *Evaluation) {
	if p == nil {
		return
	}
	for i := range p.Expressions {
		x := &p.Expressions[i]
		if v := e.verdict(i); v != nil {
			x.Result, x.Message, x.Reason = v.Result, v.Message, v.Reason
			if v.Result == Unknown {
				x.Unknown, x.Because = v.Unknown, v.Because
			}
		} else if !x.NotEvaluated {
			x.Result = x.result("true")
		}
	}
}

// effectIfDeny is what the apiserver would do were the binding set to [Deny].
func (e *Evaluation) effectIfDeny() string {
	switch {
	case e.BlocksAnyway || slices.ContainsFunc(e.Verdicts, Verdict.denies):
		return string(admissionv1.Deny)
	case e.Result == Unknown:
		return string(Unknown)
	default:
		return ""
	}
}

// listed is an expression as the policy lists it.
type listed struct {
	*expression
	name  string
	index *int
}

func namedExpressions(list []namedExpression) []listed {
	out := make([]listed, len(list))
	for i, n := range list {
		out[i] = listed{expression: n.expression, name: n.name}
	}
	return out
}

func validationExpressions(c *compiled, e *Evaluation) []listed {
	out := make([]listed, len(c.validations))
	for i, v := range c.validations {
		out[i] = listed{expression: v.expression, index: &i}
	}
	return out
}

func messageExpressions(c *compiled) []listed {
	var out []listed
	for i, m := range c.messages {
		if m != nil {
			out = append(out, listed{expression: m, index: &i})
		}
	}
	return out
}

// explain finds the phase in which the expressions were evaluated; nil where none was.
func (t *evaluationTrace) explain(list []listed) *ExplainedPhase {
	for _, p := range t.phases {
		if p.holds(list) {
			return p.explain(list)
		}
	}
	return nil
}

func (t *phaseTrace) holds(list []listed) bool {
	return len(t.evaluated) > 0 && slices.ContainsFunc(list, func(l listed) bool { return l.expression == t.evaluated[0].expression })
}

func (t *phaseTrace) explain(list []listed) *ExplainedPhase {
	out := &ExplainedPhase{Budget: t.budget, Left: t.remaining, Uncertain: t.uncertain}
	if t.ended != nil {
		out.Ended = t.ended.Error()
	}
	for _, l := range list {
		x := ExplainedExpression{Expression: l.source, NotEvaluated: true}
		if i := slices.IndexFunc(t.evaluated, func(e evaluated) bool { return e.expression == l.expression }); i >= 0 {
			x = t.evaluated[i].ExplainedExpression
		}
		x.Name, x.Index = l.name, l.index
		out.Expressions = append(out.Expressions, x)
	}
	return out
}

func kindOf(apiVersion, kind string) Kind {
	return Kind(schema.FromAPIVersionAndKind(apiVersion, kind))
}
