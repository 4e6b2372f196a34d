package engine

import (
	"strings"

	celast "github.com/google/cel-go/common/ast"
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
