package engine

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	policies []*compiled // by name
	rbac     snapshots

	mu    sync.RWMutex
	index map[indexKey][]*compiled
}

// New compiles the policies, once and for all requests.
func New(cfg Config) (*Engine, error) {
	if cfg.Minor < OldestMinor || cfg.Minor > NewestMinor {
		return nil, fmt.Errorf("no Kubernetes 1.%d: known are 1.%d to 1.%d", cfg.Minor, OldestMinor, NewestMinor)
	}
	e := &Engine{minor: cfg.Minor, rbac: snapshots{minor: cfg.Minor}, index: map[indexKey][]*compiled{}}
	envs := newEnvironments(cfg.Minor)
	bindings := map[string][]*compiledBinding{}
	for _, b := range cfg.Bindings {
		c := &compiledBinding{binding: b}
		if b.Spec.MatchResources != nil {
			c.constraints = newCriteria(b.Spec.MatchResources)
		}
		bindings[b.Spec.PolicyName] = append(bindings[b.Spec.PolicyName], c)
	}
	for _, p := range cfg.Policies {
		of := bindings[p.Name]
		if len(of) == 0 && cfg.Unbound {
			of = []*compiledBinding{{binding: auditEverything(p.Name)}}
		}
		if len(of) == 0 {
			continue // The apiserver does not look at a policy that nothing binds.
		}
		slices.SortFunc(of, func(a, b *compiledBinding) int { return strings.Compare(a.binding.Name, b.binding.Name) })
		e.policies = append(e.policies, &compiled{policy: p, bindings: of})
	}
	slices.SortFunc(e.policies, func(a, b *compiled) int { return strings.Compare(a.policy.Name, b.policy.Name) })
	return e, e.compile(envs)
}

// compile compiles the policies, on all cores.
func (e *Engine) compile(envs *environments) error {
	errs := make([]error, len(e.policies))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				c, err := compilePolicy(envs, e.policies[i].policy)
				if err != nil {
					errs[i] = fmt.Errorf("compiling policy %s: %w", e.policies[i].policy.Name, err)
					continue
				}
				c.bindings = e.policies[i].bindings
				e.policies[i] = c
			}
		})
	}
	for i := range e.policies {
		next <- i
	}
	close(next)
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
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
			out = append(out, Pair{Policy: c.policy.Name, Binding: b.binding.Name, ValidationActions: b.actions()})
		}
	}
	return out
}

// indexKey is what of a request its rules are matched by, names and scope aside.
type indexKey struct {
	group, version, resource, sub string
	operation                     replay.Operation
	resources                     *replay.Resources
}

// candidates are the policies with a rule that could match requests like this one.
func (e *Engine) candidates(req *replay.Request) []*compiled {
	key := indexKey{req.Resource.Group, req.Resource.Version, req.Resource.Resource, req.SubResource, req.Operation, req.View.Resources()}
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
