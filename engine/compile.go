// Package engine evaluates ValidatingAdmissionPolicies on admission requests as an apiserver does, and says Unknown
// where an input is missing and the answer hangs on it.
package engine

import (
	"slices"
	"sync/atomic"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/vapshadow/vapshadow/engine/declare"
)

// compiled is a policy that is ready to be evaluated.
type compiled struct {
	// highestCost is the most that the validations of one evaluation have cost so far, in the units of the budget.
	highestCost *atomic.Int64
	policy      *admissionv1.ValidatingAdmissionPolicy
	bindings    []*compiledBinding
	hash        string

	constraints     *criteria
	variables       []namedExpression
	composition     *apiservercel.DeclType
	matchConditions []namedExpression
	validations     []validation
	// messages has an entry a validation; nil where it has no messageExpression.
	messages    []*expression
	annotations []namedExpression
	failClosed  bool
	// read are the inputs that any of the expressions names.
	read inputSet
	// fails and errs are what tells repeated failures and errors: fails has an entry a validation.
	fails []sameness
	errs  sameness
	// recallable is what results are remembered by; nil where they are not.
	recallable *recallable
}

type compiledBinding struct {
	binding *admissionv1.ValidatingAdmissionPolicyBinding
	text    Text
	// constraints are nil where the binding selects nothing of its own.
	constraints *criteria
	// acts are the binding's validationActions.
	acts []string
}

type namedExpression struct {
	name string
	*expression
}

type validation struct {
	*expression
	message string
	reason  string
}

// compile compiles each expression of a policy once. Expressions that do not compile are kept: the apiserver accepted
// the policy, and reports the error when it comes to them.
func (c *compiled) compile(envs *environments, m *memory, constraints *criteriaSet) error {
	policy := c.policy
	c.constraints = constraints.of(policy.Spec.MatchConstraints)
	c.failClosed = policy.Spec.FailurePolicy == nil || *policy.Spec.FailurePolicy == admissionv1.Fail
	c.composition = declare.Composition()
	hasParams := policy.Spec.ParamKind != nil
	full, err := envs.composed(declare.Optional{Params: hasParams, Authorizer: true}, c.composition)
	if err != nil {
		return err
	}
	for _, v := range policy.Spec.Variables {
		e := compile(full, v.Expression, cel.AnyType, cel.DynType)
		c.variables = append(c.variables, namedExpression{v.Name, e})
		c.composition.Fields[v.Name] = apiservercel.NewDeclField(v.Name, declare.Type(e.output), true, nil, nil)
	}
	for _, m := range policy.Spec.MatchConditions {
		c.matchConditions = append(c.matchConditions, namedExpression{m.Name, compile(full, m.Expression, cel.BoolType)})
	}
	for _, v := range policy.Spec.Validations {
		out := validation{expression: compile(full, v.Expression, cel.BoolType), message: v.Message, reason: reasonInvalid}
		if v.Reason != nil {
			out.reason = string(*v.Reason)
		}
		c.validations = append(c.validations, out)
	}
	for _, a := range policy.Spec.AuditAnnotations {
		c.annotations = append(c.annotations, namedExpression{a.Key, compile(full, a.ValueExpression, cel.StringType, cel.NullType)})
	}
	err = c.compileMessages(envs, hasParams)
	c.findInputs()
	c.findPlaces(m)
	c.findSameness(m)
	return err
}

// compileMessages compiles the messageExpressions, which may not use the authorizer.
func (c *compiled) compileMessages(envs *environments, hasParams bool) error {
	has := func(v admissionv1.Validation) bool { return v.MessageExpression != "" }
	if !slices.ContainsFunc(c.policy.Spec.Validations, has) {
		return nil
	}
	env, err := envs.composed(declare.Optional{Params: hasParams}, c.composition)
	if err != nil {
		return err
	}
	c.messages = make([]*expression, len(c.policy.Spec.Validations))
	for i, v := range c.policy.Spec.Validations {
		if v.MessageExpression != "" {
			c.messages[i] = compile(env, v.MessageExpression, cel.StringType)
		}
	}
	return nil
}
