package engine_test

import (
	"context"
	"fmt"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/vapshadow/vapshadow/replay"
)

// upstream is the apiserver's own policy plugin, as far as it can be had from k8s.io/apiserver: its dispatcher, its
// matcher and its validators, with listers over the objects of a cluster.
type upstream struct {
	hooks   []validating.PolicyHook
	authz   authorizer.UnconditionalAuthorizer
	matcher generic.PolicyMatcher
	minor   int
}

// baseEnvironment is that of the apiserver's plugin.
var baseEnvironment = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

// upstreamValidator compiles a policy with the apiserver's compilers. The function of the plugin that does so is not
// exported; its parts are.
func upstreamValidator(p *admissionv1.ValidatingAdmissionPolicy) (validating.Validator, error) {
	compiler, err := plugincel.NewCompositedCompiler(baseEnvironment())
	if err != nil {
		return nil, err
	}
	full := plugincel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true}
	message := plugincel.OptionalVariableDeclarations{HasParams: full.HasParams}
	for _, v := range p.Spec.Variables {
		compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, full, environment.StoredExpressions)
	}
	compile := func(of []plugincel.ExpressionAccessor, has plugincel.OptionalVariableDeclarations) plugincel.ConditionEvaluator {
		return compiler.CompileCondition(of, has, environment.StoredExpressions)
	}
	var matcher matchconditions.Matcher
	if len(p.Spec.MatchConditions) > 0 {
		var conditions []plugincel.ExpressionAccessor
		for i := range p.Spec.MatchConditions {
			conditions = append(conditions, (*matchconditions.MatchCondition)(&p.Spec.MatchConditions[i]))
		}
		matcher = matchconditions.NewMatcher(compile(conditions, full), p.Spec.FailurePolicy, "policy", "validate", p.Name)
	}
	var validations, messages, annotations []plugincel.ExpressionAccessor
	for _, v := range p.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		if v.MessageExpression == "" {
			messages = append(messages, nil)
		} else {
			messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
		}
	}
	for _, a := range p.Spec.AuditAnnotations {
		annotations = append(annotations, &validating.AuditAnnotationCondition{Key: a.Key, ValueExpression: a.ValueExpression})
	}
	return validating.NewValidator(compile(validations, full), matcher, compile(annotations, full), compile(messages, message), p.Spec.FailurePolicy, nil), nil
}

// newUpstream readies the apiserver's plugin for a set of policies in a cluster.
func newUpstream(minor int, policies []*admissionv1.ValidatingAdmissionPolicy, bindings []*admissionv1.ValidatingAdmissionPolicyBinding, c *cluster) (*upstream, error) {
	u := &upstream{minor: minor, authz: c.authorizer, matcher: generic.NewPolicyMatcher(matching.NewMatcher(c.namespaces, noClient{}))}
	for _, p := range policies {
		validator, err := upstreamValidator(p)
		if err != nil {
			return nil, fmt.Errorf("compiling policy %s: %w", p.Name, err)
		}
		hook := validating.PolicyHook{Policy: p, Evaluator: validator}
		for _, b := range bindings {
			if b.Spec.PolicyName == p.Name {
				hook.Bindings = append(hook.Bindings, b)
			}
		}
		if kind := p.Spec.ParamKind; kind != nil {
			gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
			gvr, namespaced, ok := c.resources.Resource(gvk)
			if !ok {
				hook.ConfigurationError = fmt.Errorf("failed to find resource referenced by paramKind: '%v'", gvk)
			}
			hook.ParamScope = meta.RESTScopeRoot
			if namespaced {
				hook.ParamScope = meta.RESTScopeNamespace
			}
			hook.ParamInformer = c.params(gvr)
		}
		if len(hook.Bindings) > 0 {
			u.hooks = append(u.hooks, hook)
		}
	}
	return u, nil
}

// watched is what the plugin did with one request, put down by the two parts of it that can be wrapped: the matcher,
// which it asks about each policy and binding in turn, and the validator, which it then calls for each params object.
type watched struct {
	generic.PolicyMatcher
	policy, binding string
	// broken are the configuration errors of policies.
	broken   map[string]error
	outcomes []*outcome
	bindings []*bindingMatch
}

// bindingMatch is a binding that matched, and how many evaluations it led to.
type bindingMatch struct {
	policy, binding string
	evaluations     int
}

func (w *watched) DefinitionMatches(a admission.Attributes, o admission.ObjectInterfaces, p generic.PolicyAccessor) (bool, schema.GroupVersionResource, schema.GroupVersionKind, error) {
	w.policy, w.binding = p.GetName(), ""
	is, resource, kind, err := w.PolicyMatcher.DefinitionMatches(a, o, p)
	because := err
	if is && because == nil {
		because = w.broken[w.policy]
	}
	if because != nil {
		w.outcomes = append(w.outcomes, &outcome{Policy: w.policy, ConfigError: because.Error()})
	}
	return is, resource, kind, err
}

func (w *watched) BindingMatches(a admission.Attributes, o admission.ObjectInterfaces, b generic.BindingAccessor) (bool, error) {
	w.binding = b.GetName()
	is, err := w.PolicyMatcher.BindingMatches(a, o, b)
	switch {
	case err != nil:
		w.outcomes = append(w.outcomes, &outcome{Policy: w.policy, Binding: w.binding, ConfigError: err.Error()})
	case is:
		w.bindings = append(w.bindings, &bindingMatch{policy: w.policy, binding: w.binding})
	}
	return is, err
}

// watchedValidator puts down what a validator decides.
type watchedValidator struct {
	validating.Validator
	*watched
	validations int
}

func (v watchedValidator) Validate(ctx context.Context, resource schema.GroupVersionResource, attributes *admission.VersionedAttributes, params runtime.Object, ns *corev1.Namespace, budget int64, authz authorizer.UnconditionalAuthorizer) validating.ValidateResult {
	result := v.Validator.Validate(ctx, resource, attributes, params, ns, budget, authz)
	o := outcomeOf(result, v.validations)
	o.Policy, o.Binding, o.Params = v.policy, v.binding, paramsName(params)
	v.outcomes = append(v.outcomes, o)
	v.bindings[len(v.bindings)-1].evaluations++
	return result
}

func paramsName(params runtime.Object) string {
	if params == nil {
		return ""
	}
	m, err := meta.Accessor(params)
	if err != nil {
		return err.Error()
	}
	return m.GetNamespace() + "/" + m.GetName()
}

// dispatch sends a request through the plugin.
func (u *upstream) dispatch(req *replay.Request) (*dispatched, error) {
	attributes, err := attributesOf(u.minor, req)
	if err != nil {
		return nil, err
	}
	w := &watched{PolicyMatcher: u.matcher, broken: map[string]error{}}
	hooks := make([]validating.PolicyHook, len(u.hooks))
	for i, hook := range u.hooks {
		hook.Evaluator = watchedValidator{Validator: hook.Evaluator, watched: w, validations: len(hook.Policy.Spec.Validations)}
		w.broken[hook.Policy.Name] = hook.ConfigurationError
		hooks[i] = hook
	}
	d := &dispatched{Annotations: attributes.annotations}
	ctx := d.collectWarnings(context.Background())
	d.Err = validating.NewDispatcher(u.authz, w).Dispatch(ctx, attributes, objectInterfaces{u.minor, req}, hooks)
	w.configErrors(hooks, req)
	d.Outcomes = w.outcomes
	return d, nil
}

// configErrors finds why policies and bindings that matched were not evaluated: the plugin says so of the first only.
func (w *watched) configErrors(hooks []validating.PolicyHook, req *replay.Request) {
	of := map[string]validating.PolicyHook{}
	for _, hook := range hooks {
		of[hook.Policy.Name] = hook
	}
	for _, m := range w.bindings {
		hook := of[m.policy]
		for _, b := range hook.Bindings {
			if b.Name != m.binding || m.evaluations > 0 {
				continue
			}
			_, err := generic.CollectParams(hook.Policy.Spec.ParamKind, hook.ParamInformer, hook.ParamScope, b.Spec.ParamRef, req.Namespace, nil, nil)
			if err != nil {
				w.outcomes = append(w.outcomes, &outcome{Policy: m.policy, Binding: m.binding, ConfigError: err.Error()})
			}
		}
	}
}
