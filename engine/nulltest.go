package engine

import (
	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// nullTests makes a program decide `oldObject == null` where the object is known in part: it is no null then. To cel-go
// a variable is unknown as soon as any part of it is.
func (e *expression) nullTests() cel.ProgramOption {
	variables := map[int64]string{}
	celast.PreOrderVisit(e.ast.NativeRep().Expr(), celast.NewExprVisitor(func(node celast.Expr) {
		if name, ok := testsForNull(node); ok {
			variables[node.ID()] = name
		}
	}))
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || variables[i.ID()] == "" {
			return i, nil
		}
		return &nullTest{InterpretableV2: i, variable: variables[i.ID()], equal: call.Function() == operators.Equals}, nil
	})
}

// testsForNull names the input that an expression compares with null, if that is all that it does.
func testsForNull(e celast.Expr) (variable string, ok bool) {
	if e.Kind() != celast.CallKind {
		return "", false
	}
	call := e.AsCall()
	if f := call.FunctionName(); f != operators.Equals && f != operators.NotEquals {
		return "", false
	}
	a, b := call.Args()[0], call.Args()[1]
	if a.Kind() == celast.LiteralKind {
		a, b = b, a
	}
	if a.Kind() != celast.IdentKind || b.Kind() != celast.LiteralKind || b.AsLiteral() != types.NullValue {
		return "", false
	}
	return a.AsIdent(), inputNames[a.AsIdent()] != 0
}

// nullTest is a comparison of a variable with null.
type nullTest struct {
	interpreter.InterpretableV2
	variable string
	equal    bool
}

// Exec implements interpreter.InterpretableV2.
func (n *nullTest) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if partial, ok := frame.AsPartialActivation(); ok {
		for _, p := range partial.UnknownAttributePatterns() {
			if p.VariableMatches(n.variable) && len(p.QualifierPatterns()) == 0 {
				return n.InterpretableV2.Exec(frame)
			}
		}
	}
	found, _ := frame.ResolveName(n.variable)
	value, ok := found.(ref.Val)
	if !ok || types.IsUnknownOrError(value) {
		return n.InterpretableV2.Exec(frame)
	}
	return types.Bool((value.Type() == types.NullType) == n.equal)
}

// Eval implements interpreter.Interpretable.
func (n *nullTest) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }
