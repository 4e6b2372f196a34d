package engine

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/replay"
)

// Config is what an Engine evaluates.
type Config struct {
	// Minor is the apiserver to be: 37 for Kubernetes 1.37.
	Minor int
	// Policies and Bindings are in v1, defaulted and valid.
	Policies []*admissionv1.ValidatingAdmissionPolicy
	Bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	// Unbound evaluates a policy that has no binding as though it were bound to everything with [Audit].
	Unbound bool
}

// Engine evaluates a set of policies. It is safe for use by several goroutines.
type Engine struct {
	minor    int
	unbound  bool
	envs     *environments
	memory   *memory
	criteria *criteriaSet
	policies []*compiled // those that are bound, by name
	rbac     *snapshots
	// hashes are those of params, and texts those of the policies and bindings that are evaluated.
	hashes *paramsHashes
	texts  map[any]Text
	// hidden are the policies that were written in a way that nothing shows.
	hidden map[string]bool

	// all and bindings are what the set is made of, by name.
	all      map[string]*admissionv1.ValidatingAdmissionPolicy
	bindings map[string]*admissionv1.ValidatingAdmissionPolicyBinding

	// builtin are the resources that the apiserver itself has.
	builtin func() *replay.Resources

	mu    sync.RWMutex
	index map[indexKey][]*compiled
}

// New compiles the policies, once and for all requests.
func New(cfg Config) (*Engine, error) {
	if cfg.Minor < OldestMinor || cfg.Minor > NewestMinor {
		return nil, fmt.Errorf("no Kubernetes 1.%d: known are 1.%d to 1.%d", cfg.Minor, OldestMinor, NewestMinor)
	}
	e := &Engine{
		minor: cfg.Minor, unbound: cfg.Unbound, envs: newEnvironments(cfg.Minor), memory: newMemory(), criteria: &criteriaSet{}, rbac: &snapshots{minor: cfg.Minor},
		hashes:   &paramsHashes{},
		hidden:   map[string]bool{},
		all:      map[string]*admissionv1.ValidatingAdmissionPolicy{},
		bindings: map[string]*admissionv1.ValidatingAdmissionPolicyBinding{},
	}
	for _, p := range cfg.Policies {
		e.all[p.Name] = p
	}
	for _, b := range cfg.Bindings {
		e.bindings[b.Name] = b
	}
	return e, e.assemble(nil)
}

// assemble brings policies and bindings together. What an earlier Engine has compiled is taken from there.
func (e *Engine) assemble(earlier *Engine) error {
	e.index = map[indexKey][]*compiled{}
	e.texts = map[any]Text{}
	e.builtin = sync.OnceValue(func() *replay.Resources { return replay.BuiltinResources(e.minor) })
	of := map[string][]*compiledBinding{}
	for _, b := range e.bindings {
		c := newBinding(b, e.text(b, earlier))
		if b.Spec.MatchResources != nil {
			c.constraints = e.criteria.of(b.Spec.MatchResources)
		}
		of[b.Spec.PolicyName] = append(of[b.Spec.PolicyName], c)
	}
	var fresh []*compiled
	for name, p := range e.all {
		bindings := of[name]
		if len(bindings) == 0 && e.unbound {
			b := auditEverything(name)
			bindings = []*compiledBinding{newBinding(b, e.text(b, nil))}
		}
		if len(bindings) == 0 {
			continue // The apiserver does not look at a policy that nothing binds.
		}
		slices.SortFunc(bindings, func(a, b *compiledBinding) int { return strings.Compare(a.binding.Name, b.binding.Name) })
		c := earlier.compiled(p)
		if c == nil {
			c = &compiled{policy: p, highestCost: new(atomic.Int64)}
			fresh = append(fresh, c)
		}
		c.bindings, c.hash = bindings, e.text(p, earlier).Hash
		e.policies = append(e.policies, c)
	}
	slices.SortFunc(e.policies, func(a, b *compiled) int { return strings.Compare(a.policy.Name, b.policy.Name) })
	return e.compile(fresh)
}

// compiled returns a copy of what a policy was compiled to; nil where it was not.
func (e *Engine) compiled(p *admissionv1.ValidatingAdmissionPolicy) *compiled {
	if e == nil {
		return nil
	}
	for _, c := range e.policies {
		if c.policy == p {
			again := *c
			return &again
		}
	}
	return nil
}

// compile compiles policies, on all cores.
func (e *Engine) compile(policies []*compiled) error {
	errs := make([]error, len(policies))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(policies)) {
		workers.Go(func() {
			for i := range next {
				if err := policies[i].compile(e.envs, e.memory, e.criteria); err != nil {
					errs[i] = fmt.Errorf("compiling policy %s: %w", policies[i].policy.Name, err)
				}
			}
		})
	}
	for i := range policies {
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(errs...)
}

// auditEverything is the binding that stands in for one that is not there yet.
func auditEverything(policy string) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: UnboundBinding},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy, ValidationActions: []admissionv1.ValidationAction{admissionv1.Audit},
		},
	}
}

// UnboundBinding is the name that stands for the binding of a policy that has none.
const UnboundBinding = "(unbound)"

// Pair is a policy and one of its bindings.
type Pair struct {
	Policy, Binding   string
	ValidationActions []string
}

// Pairs lists what the Engine evaluates, ordered by name.
func (e *Engine) Pairs() []Pair {
	var out []Pair
	for _, c := range e.policies {
		for _, b := range c.bindings {
			out = append(out, Pair{Policy: c.policy.Name, Binding: b.binding.Name, ValidationActions: b.acts})
		}
	}
	return out
}

// indexKey is what of a request its rules are matched by, names and scope aside.
type indexKey struct {
	group, version, resource, sub string
	operation                     replay.Operation
	orCreate                      bool
	resources                     *replay.Resources
}

// MayMatch says whether some policy may match a create or an update of a resource in a state of the cluster: if none
// does, Evaluate has nothing to say of such requests.
func (e *Engine) MayMatch(resource schema.GroupVersionResource, subResource string, view replay.View) bool {
	for _, like := range []replay.Request{{Operation: replay.Create}, {Operation: replay.Update}, {Operation: replay.Update, OrCreate: true}} {
		like.Resource, like.SubResource, like.View = resource, subResource, view
		if len(e.candidates(&like)) > 0 {
			return true
		}
	}
	return false
}

// candidates are the policies with a rule that could match requests like this one.
func (e *Engine) candidates(req *replay.Request) []*compiled {
	key := indexKey{req.Resource.Group, req.Resource.Version, req.Resource.Resource, req.SubResource, req.Operation, req.OrCreate, req.View.Resources()}
	e.mu.RLock()
	found, ok := e.index[key]
	e.mu.RUnlock()
	if ok {
		return found
	}
	for _, c := range e.policies {
		if c.constraints.err != nil || c.constraints.couldMatch(req) {
			found = append(found, c)
		}
	}
	e.mu.Lock()
	e.index[key] = found
	e.mu.Unlock()
	return found
}

// couldMatch says whether some rule names the request's resource, or an equivalent one, whatever its scope and names.
func (c *criteria) couldMatch(req *replay.Request) bool {
	if len(c.rules) == 0 {
		return true
	}
	like := *req
	for i := range c.rules {
		rule := c.rules[i].RuleWithOperations
		rule.Scope = nil
		if matchRule(&rule, &like, req.Resource) {
			return true
		}
		if !c.equivalent {
			continue
		}
		for _, resource := range req.View.Resources().Equivalents(req.Resource, req.SubResource) {
			if matchRule(&rule, &like, resource) {
				return true
			}
		}
	}
	return false
}
