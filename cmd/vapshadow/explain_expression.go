package main

import (
	"fmt"
	"strings"

	"github.com/vapshadow/vapshadow/internal/pipeline"
)

func (o explanation) phase(level int, what string, p *pipeline.ExplainedPhase) {
	if p == nil {
		return
	}
	for i := range p.Expressions {
		x := &p.Expressions[i]
		if what == "messageExpression" && x.NotEvaluated {
			continue // Nothing hangs on the messages of what did not fail.
		}
		o.expression(level, what, x)
	}
	if p.Ended != "" {
		o.Line(level, "no further %s is evaluated: %s", what, p.Ended)
	}
}

// expressionWidth is how wide the labels below an expression are.
const expressionWidth = 10

func (o explanation) expression(level int, what string, x *pipeline.ExplainedExpression) {
	head := what
	switch {
	case x.Index != nil:
		head += fmt.Sprintf(" %d", *x.Index)
	case x.Name != "":
		head += " " + x.Name
	}
	if x.Result != "" {
		head += ": " + string(x.Result)
	}
	if x.NotEvaluated {
		head += ": not evaluated"
	}
	o.Line(level, "%s", head)
	level++
	o.Item(level, 0, "", x.Expression)
	o.came(level, x)
	if x.Message != "" && x.Message != x.Error {
		o.Item(level, expressionWidth, "message", x.Message)
	}
	o.Item(level, expressionWidth, "reason", x.Reason)
	for i := range x.Variables {
		o.expression(level, "variable", &x.Variables[i])
	}
}

// came writes what an expression came to, and what that cost.
func (o explanation) came(level int, x *pipeline.ExplainedExpression) {
	cost := ""
	if x.Cost != nil {
		cost = fmt.Sprintf("  (cost %d)", *x.Cost)
	}
	switch {
	case x.NotEvaluated:
	case x.Error != "":
		o.Item(level, expressionWidth, "error", x.Error+cost)
	case len(x.Unknown) > 0:
		o.Item(level, expressionWidth, "unknown", "hangs on "+o.hangsOn(x.Unknown, string(x.Because))+cost)
	case strings.HasPrefix(x.Value, "(masked)"):
		o.Item(level, expressionWidth, "is", x.Type+" "+x.Value+cost)
	default:
		o.Item(level, expressionWidth, "is", x.Value+cost)
	}
}

// unlisted writes verdicts that no validation shows: those of an error that came before the validations, or after.
func (o explanation) unlisted(level int, e *pipeline.ExplainedEvaluation) {
	if e.Validations != nil {
		return
	}
	for _, v := range e.Verdicts {
		text := fmt.Sprintf("validation %d: %s", v.ExpressionIndex, v.Result)
		if v.Message != "" {
			text += ": " + v.Message
		}
		if len(v.Unknown) > 0 {
			text += ": hangs on " + o.hangsOn(v.Unknown, string(v.Because))
		}
		o.Line(level, "%s", text)
	}
}

// budgets writes what is left of the cost budgets.
func (o explanation) budgets(level int, e *pipeline.ExplainedEvaluation) {
	var left []string
	for _, p := range []struct {
		what string
		*pipeline.ExplainedPhase
	}{{"matchConditions", e.MatchConditions}, {"validations", e.Validations}, {"messageExpressions", e.MessageExpressions}, {"auditAnnotations", e.AuditAnnotations}} {
		if p.ExplainedPhase == nil {
			continue
		}
		text := fmt.Sprintf("%s %d of %d", p.what, p.Left, p.Budget)
		if p.Uncertain > 0 {
			text += fmt.Sprintf(" (up to %d less, for what is unknown)", p.Uncertain)
		}
		left = append(left, text)
	}
	if len(left) > 0 {
		o.Line(level, "cost budget left: %s", strings.Join(left, ", "))
	}
}
