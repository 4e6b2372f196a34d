package engine

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/vapshadow/vapshadow/engine/declare"
	"github.com/vapshadow/vapshadow/engine/policy"
)

// Versions of Kubernetes that an Engine can be, by minor.
const (
	OldestMinor = policy.OldestMinor
	NewestMinor = policy.NewestMinor
)

// typedMinor is the first minor in which objects of built-in kinds are CEL views of their Go structs.
const typedMinor = 37

// keywordFields lets fields be named as CEL's keywords are. Where a minor does not allow that, loading
// refuses the policy.
const keywordFields = true

// environments are the CEL environments of one apiserver version. Building one is costly, so policies share them; only
// a policy with variables of its own needs its own.
type environments struct {
	minor int

	mu     sync.Mutex
	shared map[declare.Optional]*cel.Env
}

func newEnvironments(minor int) *environments {
	return &environments{minor: minor, shared: map[declare.Optional]*cel.Env{}}
}

// get returns the environment of expressions without variables of their own.
func (e *environments) get(has declare.Optional) (*cel.Env, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if env := e.shared[has]; env != nil {
		return env, nil
	}
	base := environment.MustBaseEnvSet(version.MajorMinor(1, uint(e.minor))).NewExpressionsEnv()
	var own []cel.EnvOption
	if e.minor < typedMinor {
		own = append(own, cel.Lib(oldCostLibrary{}))
	}
	env, err := declare.Environment(base, has, keywordFields, own...)
	if err != nil {
		return nil, fmt.Errorf("building the CEL environment of Kubernetes 1.%d: %w", e.minor, err)
	}
	e.shared[has] = env
	return env, nil
}

// composed returns the environment of a policy whose expressions share `variables`, an object of the given type. The
// type's fields may still grow afterwards.
func (e *environments) composed(has declare.Optional, composition *apiservercel.DeclType) (*cel.Env, error) {
	base, err := e.get(has)
	if err != nil {
		return nil, err
	}
	return declare.Composed(base, composition, keywordFields)
}
