package engine

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// expression is a compiled CEL expression. The zero value stands for one that is not there.
type expression struct {
	source string
	// err is why it does not compile. The apiserver reports it at each evaluation.
	err *apiservercel.Error
	// exact evaluates it where all inputs are known, as the apiserver does.
	exact cel.Program
	// inputs are those that it can read, through variables too.
	inputs inputSet
	// keyed are those of which it reads what an expression chooses: object.metadata.labels[params.key].
	keyed inputSet
	// output is the type that it evaluates to.
	output *cel.Type

	// alone is what its results are remembered by; nil where they are not.
	alone *recallableExpression

	env *cel.Env
	ast *cel.Ast

	partialOnce sync.Once
	partial     cel.Program
	partialErr  error
}

// compile compiles an expression that must evaluate to one of the given types. An expression that does not compile is
// an expression still: see err.
func compile(env *cel.Env, source string, types ...*cel.Type) *expression {
	e := &expression{source: source, env: env}
	ast, issues := env.Compile(source)
	if issues != nil {
		e.err = invalid("compilation failed: "+issues.String(), apiservercel.NewCompilationError(issues))
		return e
	}
	if !oneOf(ast.OutputType(), types) {
		if len(types) == 1 {
			e.err = invalid(fmt.Sprintf("must evaluate to %v but got %v", types[0].String(), ast.OutputType().String()), nil)
		} else {
			e.err = invalid(fmt.Sprintf("must evaluate to one of %v but got %v", types, ast.OutputType().String()), nil)
		}
		return e
	}
	program, err := env.Program(ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		e.err = &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: "program instantiation failed: " + err.Error()}
		return e
	}
	e.ast, e.exact, e.output = ast, program, ast.OutputType()
	return e
}

func invalid(detail string, cause error) *apiservercel.Error {
	return &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: detail, Cause: cause}
}

func oneOf(output *cel.Type, types []*cel.Type) bool {
	for _, t := range types {
		if output.IsExactType(t) || cel.AnyType.IsExactType(t) {
			return true
		}
	}
	return false
}

// unknowing returns the program that evaluates the expression where some inputs are not known. Most expressions never
// need it.
func (e *expression) unknowing() (cel.Program, error) {
	e.partialOnce.Do(func() {
		e.partial, e.partialErr = e.env.Program(e.ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency),
			cel.EvalOptions(cel.OptPartialEval), e.nullTests())
	})
	return e.partial, e.partialErr
}
