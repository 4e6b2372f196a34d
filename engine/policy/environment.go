package policy

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/vapshadow/vapshadow/engine/declare"
)

// minorOfKeywords is the first minor, as a compatibility version, in which fields may be named as CEL's keywords are.
const minorOfKeywords = 31

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
	declare.Optional
}

// env returns the environment of expressions without variables of their own.
func (e *expressions) env(has declare.Optional) (*cel.Env, error) {
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

func (e *expressions) build(has declare.Optional) (*cel.Env, error) {
	set := environment.MustBaseEnvSet(version.MajorMinor(1, uint(e.compatible)))
	base := set.NewExpressionsEnv()
	if e.stored {
		base = set.StoredExpressionsEnv()
	}
	return declare.Environment(base, has, e.keywords())
}

// compose returns the environment of expressions that may use `variables`, an object of the given type, whose fields may
// still grow.
func (e *expressions) compose(has declare.Optional, composition *apiservercel.DeclType) (*cel.Env, error) {
	base, err := e.env(has)
	if err != nil {
		return nil, err
	}
	return declare.Composed(base, composition, e.keywords())
}

// keywords says whether fields may be named as CEL's keywords are.
func (e *expressions) keywords() bool { return e.stored || e.compatible >= minorOfKeywords }
