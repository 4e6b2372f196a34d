package policy

import (
	"fmt"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/vapshadow/vapshadow/engine/declare"
)

// compiles reports the error of an expression that does not compile. The expression is given as messages show it.
func (c *checker) compiles(err *apiservercel.Error, path *field.Path, expression string) {
	if err == nil {
		return
	}
	reported := field.Invalid(path, expression, err.Detail)
	if err.Type == apiservercel.ErrorTypeInternal {
		reported = field.InternalError(path, err)
	}
	if c.stored {
		c.broken = append(c.broken, reported)
		return
	}
	c.add(reported)
}

// scope compiles the expressions of one policy. What each may use differs: match conditions have no `variables`, messages
// no authorizer.
type scope struct {
	expressions *expressions
	hasParams   bool
	// composition is the type of `variables`, with a field a variable that was seen; nil where the policy has none.
	composition *apiservercel.DeclType
	// composed are the environments that have `variables`.
	composed map[declare.Optional]*cel.Env
}

func (e *expressions) of(spec *admissionv1.ValidatingAdmissionPolicySpec) *scope {
	s := &scope{expressions: e, hasParams: spec.ParamKind != nil}
	if len(spec.Variables) > 0 {
		s.composition = declare.Composition()
		s.composed = map[declare.Optional]*cel.Env{}
	}
	return s
}

// condition compiles the expression of a match condition.
func (s *scope) condition(expression string) *apiservercel.Error {
	env, err := s.expressions.env(declare.Optional{Params: s.hasParams, Authorizer: true})
	if err != nil {
		return internal(err)
	}
	_, failed := compile(env, expression, cel.BoolType)
	return failed
}

// variable compiles the expression of a variable, and declares it to those that follow. One that does not compile is
// declared too, so that it is reported once.
func (s *scope) variable(name, expression string) *apiservercel.Error {
	output, failed := s.in(declare.Optional{Params: s.hasParams, Authorizer: true}, expression, cel.AnyType, cel.DynType)
	s.composition.Fields[name] = apiservercel.NewDeclField(name, declare.Type(output), true, nil, nil)
	return failed
}

// compile compiles an expression that must evaluate to one of the given types.
func (s *scope) compile(expression string, types ...*cel.Type) *apiservercel.Error {
	_, failed := s.in(declare.Optional{Params: s.hasParams, Authorizer: true}, expression, types...)
	return failed
}

// message compiles a messageExpression.
func (s *scope) message(expression string) *apiservercel.Error {
	_, failed := s.in(declare.Optional{Params: s.hasParams}, expression, cel.StringType)
	return failed
}

func (s *scope) in(has declare.Optional, expression string, types ...*cel.Type) (*cel.Type, *apiservercel.Error) {
	env, err := s.env(has)
	if err != nil {
		return nil, internal(err)
	}
	return compile(env, expression, types...)
}

// env is the environment of expressions that may use `variables`, if the policy has any.
func (s *scope) env(has declare.Optional) (*cel.Env, error) {
	if s.composition == nil {
		return s.expressions.env(has)
	}
	if env := s.composed[has]; env != nil {
		return env, nil
	}
	env, err := s.expressions.compose(has, s.composition)
	if err != nil {
		return nil, err
	}
	s.composed[has] = env
	return env, nil
}

// compile does what an apiserver does with an expression, in its words: parse and check, hold the type of the result
// against those wanted, and make a program, for some errors are only found then.
func compile(env *cel.Env, expression string, types ...*cel.Type) (*cel.Type, *apiservercel.Error) {
	ast, issues := env.Compile(expression)
	if issues != nil {
		return nil, invalid("compilation failed: " + issues.String())
	}
	output := ast.OutputType()
	if !isOneOf(output, types) {
		if len(types) == 1 {
			return nil, invalid(fmt.Sprintf("must evaluate to %v but got %v", types[0], output))
		}
		return nil, invalid(fmt.Sprintf("must evaluate to one of %v but got %v", types, output))
	}
	if _, err := env.Program(ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency)); err != nil {
		return nil, &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: "program instantiation failed: " + err.Error()}
	}
	return output, nil
}

func isOneOf(output *cel.Type, types []*cel.Type) bool {
	for _, t := range types {
		if output.IsExactType(t) || cel.AnyType.IsExactType(t) {
			return true
		}
	}
	return false
}

func invalid(detail string) *apiservercel.Error {
	return &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: detail}
}

func internal(err error) *apiservercel.Error {
	return &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: fmt.Sprintf("unexpected error loading CEL environment: %v", err)}
}
