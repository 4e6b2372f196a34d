package engine

import (
	"math/bits"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"

	"github.com/vapshadow/vapshadow/replay"
)

// inputSet is a set of the inputs that an expression can read.
type inputSet uint8

const (
	readsObject inputSet = 1 << iota
	readsOldObject
	readsParams
	readsRequest
	readsNamespace
	readsAuthorizer
)

// inputLevels say how well each input is known; empty where nobody asked.
type inputLevels [6]replay.Level

func (l *inputLevels) set(input inputSet, level replay.Level) {
	l[bits.TrailingZeros8(uint8(input))] = level
}

func (l *inputLevels) of(input inputSet) replay.Level {
	return l[bits.TrailingZeros8(uint8(input))]
}

// unknownInput is a part of the inputs that is not known.
type unknownInput struct {
	input   inputSet
	path    []string // begins with the variable's name
	because replay.Reason
}

func (u unknownInput) pattern() *interpreter.AttributePattern {
	p := interpreter.NewAttributePattern(u.path[0])
	for _, field := range u.path[1:] {
		p.QualString(field)
	}
	return p
}

// activation resolves the variables of an expression.
type activation struct {
	run       *run
	request   ref.Val
	namespace namespacePart
	// authorizer and requestResource are nil where an expression may not use them.
	authorizer, requestResource ref.Val
	variables                   func() ref.Val

	// unknown are the inputs of which some part is not known, patterns the parts.
	unknown  inputSet
	patterns []*interpreter.AttributePattern
	// read collects the inputs that were looked at.
	read inputSet
}

// takeRead returns what was looked at so far, and begins anew.
func (a *activation) takeRead() inputSet {
	read := a.read
	a.read = 0
	return read
}

// ResolveName implements interpreter.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case plugincel.ObjectVarName:
		a.read |= readsObject
		return a.run.objects.object.get(), true
	case plugincel.OldObjectVarName:
		a.read |= readsOldObject
		return a.run.objects.oldObject.get(), true
	case plugincel.ParamsVarName:
		a.read |= readsParams
		return a.run.params, true
	case plugincel.RequestVarName:
		a.read |= readsRequest
		return a.request, true
	case plugincel.NamespaceVarName:
		a.read |= readsNamespace
		return a.run.ns.part(a.namespace, a.run.engine.minor), true
	case plugincel.AuthorizerVarName:
		a.read |= readsAuthorizer
		return a.authorizer, a.authorizer != nil
	case plugincel.RequestResourceAuthorizerVarName:
		a.read |= readsAuthorizer
		return a.requestResource, a.requestResource != nil
	case plugincel.VariableVarName:
		return a.variables(), true
	default:
		return nil, false
	}
}

// Parent implements interpreter.Activation.
func (a *activation) Parent() interpreter.Activation { return nil }

// UnknownAttributePatterns implements interpreter.PartialActivation.
func (a *activation) UnknownAttributePatterns() []*interpreter.AttributePattern { return a.patterns }

// AsPartialActivation tells cel-go to look for unknown attributes.
func (a *activation) AsPartialActivation() (interpreter.PartialActivation, bool) {
	return a, len(a.patterns) > 0
}
