package policy

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// minorOfKeywords is the first minor, as a compatibility version, in which fields may be named as CEL's keywords are.
const minorOfKeywords = 31

// declared says which of the optional variables an expression may use.
type declared struct{ params, authorizer bool }

// expressions compiles expressions as one kind of apiserver does.
type expressions struct {
	// compatible is the minor whose libraries new expressions may use: that of the apiserver's predecessor, so that it can
	// be rolled back.
	compatible int
	stored     bool
}

func newExpressions(opts Options) *expressions {
	return &expressions{compatible: opts.minor() - 1, stored: opts.Stored}
}

// environments are the CEL environments of expressions without variables of their own. Building one takes long, and they
// do not change, so that all loads share them.
var environments sync.Map

type environmentKey struct {
	expressions
	declared
}

// env returns the environment of expressions without variables of their own.
func (e *expressions) env(has declared) (*cel.Env, error) {
	key := environmentKey{*e, has}
	if env, ok := environments.Load(key); ok {
		return env.(*cel.Env), nil
	}
	env, err := e.build(has)
	if err != nil {
		return nil, fmt.Errorf("building the CEL environment of Kubernetes 1.%d: %w", e.compatible+1, err)
	}
	shared, _ := environments.LoadOrStore(key, env)
	return shared.(*cel.Env), nil
}

func (e *expressions) build(has declared) (*cel.Env, error) {
	set := environment.MustBaseEnvSet(version.MajorMinor(1, uint(e.compatible)))
	base := set.NewExpressionsEnv()
	if e.stored {
		base = set.StoredExpressionsEnv()
	}
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	options := []cel.EnvOption{
		cel.Variable(plugincel.ObjectVarName, cel.DynType),
		cel.Variable(plugincel.OldObjectVarName, cel.DynType),
		cel.Variable(plugincel.NamespaceVarName, namespace.CelType()),
		cel.Variable(plugincel.RequestVarName, request.CelType()),
	}
	if has.params {
		options = append(options, cel.Variable(plugincel.ParamsVarName, cel.DynType))
	}
	if has.authorizer {
		options = append(options,
			cel.Variable(plugincel.AuthorizerVarName, library.AuthorizerType),
			cel.Variable(plugincel.RequestResourceAuthorizerVarName, library.ResourceCheckType))
	}
	return e.extend(base, options, namespace, request)
}

// compose returns the environment of expressions that may use `variables`, an object of the given type, whose fields may
// still grow.
func (e *expressions) compose(has declared, composition *apiservercel.DeclType) (*cel.Env, error) {
	base, err := e.env(has)
	if err != nil {
		return nil, err
	}
	return e.extend(base, []cel.EnvOption{cel.Variable(plugincel.VariableVarName, composition.CelType())}, composition)
}

func (e *expressions) extend(base *cel.Env, options []cel.EnvOption, types ...*apiservercel.DeclType) (*cel.Env, error) {
	provider := apiservercel.NewDeclTypeProvider(types...)
	provider.SetRecognizeKeywordAsFieldName(e.stored || e.compatible >= minorOfKeywords)
	typeOptions, err := provider.EnvOptions(base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	return base.Extend(append(options, typeOptions...)...)
}
