package engine

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/vapshadow/vapshadow/engine/policy"
)

// Versions of Kubernetes that an Engine can be, by minor.
const (
	OldestMinor = policy.OldestMinor
	NewestMinor = policy.NewestMinor
)

// typedMinor is the first minor in which objects of built-in kinds are CEL views of their Go structs.
const typedMinor = 37

// variables says which of the optional variables an expression may use.
type variables struct{ params, authorizer bool }

// environments are the CEL environments of one apiserver version. Building one is costly, so policies share them; only
// a policy with variables of its own needs its own.
type environments struct {
	minor int

	mu     sync.Mutex
	shared map[variables]*cel.Env
}

func newEnvironments(minor int) *environments {
	return &environments{minor: minor, shared: map[variables]*cel.Env{}}
}

// get returns the environment of expressions without variables of their own.
func (e *environments) get(has variables) (*cel.Env, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if env := e.shared[has]; env != nil {
		return env, nil
	}
	base := environment.MustBaseEnvSet(version.MajorMinor(1, uint(e.minor))).NewExpressionsEnv()
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
	if e.minor < typedMinor {
		options = append(options, cel.Lib(oldCostLibrary{}))
	}
	env, err := extend(base, options, namespace, request)
	if err != nil {
		return nil, fmt.Errorf("building the CEL environment of Kubernetes 1.%d: %w", e.minor, err)
	}
	e.shared[has] = env
	return env, nil
}

// composed returns the environment of a policy whose expressions share `variables`, an object of the given type. The
// type's fields may still grow afterwards.
func (e *environments) composed(has variables, composition *apiservercel.DeclType) (*cel.Env, error) {
	base, err := e.get(has)
	if err != nil {
		return nil, err
	}
	return extend(base, []cel.EnvOption{cel.Variable(plugincel.VariableVarName, composition.CelType())}, composition)
}

func extend(base *cel.Env, options []cel.EnvOption, types ...*apiservercel.DeclType) (*cel.Env, error) {
	provider := apiservercel.NewDeclTypeProvider(types...)
	provider.SetRecognizeKeywordAsFieldName(true)
	typeOptions, err := provider.EnvOptions(base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	return base.Extend(append(options, typeOptions...)...)
}
