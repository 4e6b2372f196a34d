// Package declare says which variables a policy's expressions have and of what types, for those who check policies and
// for those who evaluate them.
package declare

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/traits"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// Optional says which of the optional variables an expression may use.
type Optional struct{ Params, Authorizer bool }

// Environment extends base by what every expression may use and by what `has` names. With keywords, fields may be named as
// CEL's keywords are.
func Environment(base *cel.Env, has Optional, keywords bool, more ...cel.EnvOption) (*cel.Env, error) {
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	options := []cel.EnvOption{
		cel.Variable(plugincel.ObjectVarName, cel.DynType),
		cel.Variable(plugincel.OldObjectVarName, cel.DynType),
		cel.Variable(plugincel.NamespaceVarName, namespace.CelType()),
		cel.Variable(plugincel.RequestVarName, request.CelType()),
	}
	if has.Params {
		options = append(options, cel.Variable(plugincel.ParamsVarName, cel.DynType))
	}
	if has.Authorizer {
		options = append(options,
			cel.Variable(plugincel.AuthorizerVarName, library.AuthorizerType),
			cel.Variable(plugincel.RequestResourceAuthorizerVarName, library.ResourceCheckType))
	}
	return extend(base, keywords, append(options, more...), namespace, request)
}

// Composition is the type of `variables`, without fields yet.
func Composition() *apiservercel.DeclType {
	return apiservercel.NewObjectType("kubernetes.variables", map[string]*apiservercel.DeclField{})
}

// Composed extends base by `variables`, an object of the given type, whose fields may still grow.
func Composed(base *cel.Env, composition *apiservercel.DeclType, keywords bool) (*cel.Env, error) {
	return extend(base, keywords, []cel.EnvOption{cel.Variable(plugincel.VariableVarName, composition.CelType())}, composition)
}

func extend(base *cel.Env, keywords bool, options []cel.EnvOption, types ...*apiservercel.DeclType) (*cel.Env, error) {
	provider := apiservercel.NewDeclTypeProvider(types...)
	provider.SetRecognizeKeywordAsFieldName(keywords)
	typeOptions, err := provider.EnvOptions(base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	return base.Extend(append(options, typeOptions...)...)
}

// Type is the type that a variable is declared with, from the type of its expression: scalars, and lists and maps of
// known types, keep their type; everything else is dynamic.
func Type(t *cel.Type) *apiservercel.DeclType {
	if t == nil {
		return apiservercel.DynType
	}
	if scalar, ok := scalars[t]; ok {
		return scalar
	}
	if t.HasTrait(traits.ContainerType) && t.HasTrait(traits.IndexerType) {
		switch p := t.Parameters(); len(p) {
		case 1:
			return apiservercel.NewListType(Type(p[0]), -1)
		case 2:
			return apiservercel.NewMapType(Type(p[0]), Type(p[1]), -1)
		}
	}
	return apiservercel.DynType
}

var scalars = map[*cel.Type]*apiservercel.DeclType{
	cel.AnyType:       apiservercel.AnyType,
	cel.BoolType:      apiservercel.BoolType,
	cel.BytesType:     apiservercel.BytesType,
	cel.DoubleType:    apiservercel.DoubleType,
	cel.DurationType:  apiservercel.DurationType,
	cel.IntType:       apiservercel.IntType,
	cel.NullType:      apiservercel.NullType,
	cel.StringType:    apiservercel.StringType,
	cel.TimestampType: apiservercel.TimestampType,
	cel.UintType:      apiservercel.UintType,
}
