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

// inputs are the inputs that an expression names.
func (e *expression) inputs() inputSet {
	if e == nil || e.ast == nil {
		return 0
	}
	var set inputSet
	celast.PreOrderVisit(e.ast.NativeRep().Expr(), celast.NewExprVisitor(func(node celast.Expr) {
		if node.Kind() == celast.IdentKind {
			name, _, _ := strings.Cut(node.AsIdent(), ".")
			set |= inputNames[name]
		}
	}))
	return set
}

// inputs are the inputs that any expression of the policy names.
func (c *compiled) inputs() inputSet {
	var set inputSet
	for _, list := range [][]namedExpression{c.variables, c.matchConditions, c.annotations} {
		for _, e := range list {
			set |= e.inputs()
		}
	}
	for _, v := range c.validations {
		set |= v.inputs()
	}
	for _, m := range c.messages {
		set |= m.inputs()
	}
	return set
}

// reads says whether the policy can read one of the inputs.
func (c *compiled) reads(set inputSet) bool { return c.read&set != 0 }
