package engine

import (
	"strings"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
)

var inputNames = map[string]inputSet{
	plugincel.ObjectVarName:     readsObject,
	plugincel.OldObjectVarName:  readsOldObject,
	plugincel.ParamsVarName:     readsParams,
	plugincel.RequestVarName:    readsRequest,
	plugincel.NamespaceVarName:  readsNamespace,
	plugincel.AuthorizerVarName: readsAuthorizer,
}

// names are the inputs that an expression names, and the variables.
func (e *expression) names() (set inputSet, vars []string) {
	if e == nil || e.ast == nil {
		return 0, nil
	}
	celast.PreOrderVisit(e.ast.NativeRep().Expr(), celast.NewExprVisitor(func(node celast.Expr) {
		switch node.Kind() {
		case celast.IdentKind:
			name, _, _ := strings.Cut(node.AsIdent(), ".")
			set |= inputNames[name]
			if name == plugincel.VariableVarName {
				vars = append(vars, "")
			}
		case celast.SelectKind:
			if of := node.AsSelect().Operand(); of.Kind() == celast.IdentKind && of.AsIdent() == plugincel.VariableVarName {
				vars = append(vars, node.AsSelect().FieldName())
			}
		}
	}))
	return set, vars
}

// chosen are the inputs of which an expression reads what another expression chooses. Where that is a variable they can
// be any of those that the expression reads.
func (e *expression) chosen() (set inputSet) {
	if e == nil || e.ast == nil {
		return 0
	}
	celast.PreOrderVisit(e.ast.NativeRep().Expr(), celast.NewExprVisitor(func(node celast.Expr) {
		if node.Kind() != celast.CallKind {
			return
		}
		call := node.AsCall()
		if f := call.FunctionName(); (f == operators.Index || f == operators.OptIndex) && call.Args()[1].Kind() != celast.LiteralKind {
			set |= e.named(call.Args()[0])
		}
	}))
	return set
}

// named are the inputs that a part of the expression begins with: object for object.metadata.labels, both objects for
// (x ? object : oldObject).metadata.
func (e *expression) named(part celast.Expr) inputSet {
	switch part.Kind() {
	case celast.IdentKind:
		name, _, _ := strings.Cut(part.AsIdent(), ".")
		if name == plugincel.VariableVarName {
			return e.inputs
		}
		return inputNames[name]
	case celast.SelectKind:
		return e.named(part.AsSelect().Operand())
	case celast.CallKind:
		args := part.AsCall().Args()
		switch part.AsCall().FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			return e.named(args[0])
		case operators.Conditional:
			return e.named(args[1]) | e.named(args[2])
		}
	}
	return 0
}

// findInputs finds out what each expression of the policy can read, through variables too.
func (c *compiled) findInputs() {
	of := map[string]inputSet{}
	find := func(e *expression) {
		if e == nil {
			return
		}
		set, vars := e.names()
		for _, name := range vars {
			set |= of[name]
		}
		// A variable may be named in ways that are not followed here: then any of those before may be read.
		if len(vars) > 0 && !onlySelected(vars) {
			for _, s := range of {
				set |= s
			}
		}
		e.inputs = set
		e.keyed = e.chosen()
		c.read |= set
	}
	for _, v := range c.variables {
		find(v.expression)
		of[v.name] = v.inputs
	}
	for _, m := range c.matchConditions {
		find(m.expression)
	}
	for _, v := range c.validations {
		find(v.expression)
	}
	for _, m := range c.messages {
		find(m)
	}
	for _, a := range c.annotations {
		find(a.expression)
	}
}

// onlySelected says whether each mention of `variables` selects one of its fields: then every mention is listed twice,
// once as the variable itself and once with the field's name.
func onlySelected(vars []string) bool {
	bare, selected := 0, 0
	for _, name := range vars {
		if name == "" {
			bare++
		} else {
			selected++
		}
	}
	return bare == selected
}

// reads says whether the policy can read one of the inputs.
func (c *compiled) reads(set inputSet) bool { return c.read&set != 0 }
