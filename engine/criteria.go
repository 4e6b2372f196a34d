package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/replay"
)

// criteria are the matchConstraints of a policy or the matchResources of a binding, their selectors parsed.
type criteria struct {
	namespaces, objects     labels.Selector
	namespaceErr, objectErr error
	rules, excludes         []admissionv1.NamedRuleWithOperations
	equivalent              bool
	// err is a configuration error: the constraints cannot be matched at all.
	err error
}

// criteriaSet holds criteria by their text: most policies of a cluster have one of a few, and whether that matches a
// request is found out once.
type criteriaSet struct {
	mu     sync.Mutex
	byText map[string]*criteria
}

func (s *criteriaSet) of(m *admissionv1.MatchResources) *criteria {
	text, err := json.Marshal(m)
	if err != nil {
		return newCriteria(m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byText[string(text)]
	if c == nil {
		c = newCriteria(m)
		if s.byText == nil {
			s.byText = map[string]*criteria{}
		}
		s.byText[string(text)] = c
	}
	return c
}

func newCriteria(m *admissionv1.MatchResources) *criteria {
	if m == nil {
		return &criteria{err: fmt.Errorf("policy contained no match constraints, a required field")}
	}
	c := &criteria{
		rules: m.ResourceRules, excludes: m.ExcludeResourceRules,
		equivalent: m.MatchPolicy != nil && *m.MatchPolicy == admissionv1.Equivalent,
	}
	switch {
	case m.NamespaceSelector == nil:
		c.err = fmt.Errorf("a nil %s selector was passed, please ensure selectors are initialized properly", "namespace")
	case m.ObjectSelector == nil:
		c.err = fmt.Errorf("a nil %s selector was passed, please ensure selectors are initialized properly", "object")
	}
	c.namespaces, c.namespaceErr = metav1.LabelSelectorAsSelector(m.NamespaceSelector)
	c.objects, c.objectErr = metav1.LabelSelectorAsSelector(m.ObjectSelector)
	return c
}

// target is the resource as which a rule matched a request: the request's own, or an equivalent one.
type target struct {
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
}

// matchRules says whether one of the rules matches the request, and as which resource. The answer is unknown where it
// hangs on a name that is not known, or on the kind of an equivalent resource.
func matchRules(rules []admissionv1.NamedRuleWithOperations, equivalent bool, req *replay.Request) (t target, m match) {
	maybe := match{}
	for i := range rules {
		if !matchRule(&rules[i].RuleWithOperations, req, req.Resource) {
			continue
		}
		if uncertainOperation(&rules[i].RuleWithOperations, req) {
			maybe = unknownMatch(replay.RequestFailed, "request.operation")
			continue
		}
		switch named := matchName(rules[i].ResourceNames, req); named.is {
		case yes:
			return target{resource: req.Resource, kind: req.Kind}, match{is: yes, rule: i}
		case unknown:
			maybe = named
		}
	}
	if !equivalent {
		return target{}, maybe
	}
	for i := range rules {
		for _, resource := range req.View.Resources().Equivalents(req.Resource, req.SubResource) {
			if resource == req.Resource || uncertainOperation(&rules[i].RuleWithOperations, req) || !matchRule(&rules[i].RuleWithOperations, req, resource) {
				continue
			}
			kind, ok := req.View.Resources().Kind(resource, req.SubResource)
			if !ok {
				return target{}, unknownMatch(replay.UnknownKind, "request.kind")
			}
			switch named := matchName(rules[i].ResourceNames, req); named.is {
			case yes:
				return target{resource: resource, kind: kind}, match{is: yes, rule: i}
			case unknown:
				maybe = named
			}
		}
	}
	return target{}, maybe
}

func matchName(names []string, req *replay.Request) match {
	if len(names) == 0 {
		return matched
	}
	for _, u := range req.Unknown {
		if len(u.Path) == 1 && u.Path[0] == "name" {
			return unknownMatch(u.Because, "request.name")
		}
	}
	if slices.Contains(names, req.Name) {
		return matched
	}
	return match{}
}

// matchRule matches one rule, its resourceNames left aside, as though the request had been for the given resource.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-rules
func matchRule(rule *admissionv1.RuleWithOperations, req *replay.Request, resource schema.GroupVersionResource) bool {
	return matchScope(rule.Scope, req.Namespace, resource) &&
		(matchOperation(rule, req.Operation) || req.OrCreate && matchOperation(rule, replay.Create)) &&
		anyOf(rule.APIGroups, resource.Group) &&
		anyOf(rule.APIVersions, resource.Version) &&
		matchResource(rule.Resources, resource.Resource, req.SubResource)
}

func matchOperation(rule *admissionv1.RuleWithOperations, op replay.Operation) bool {
	return slices.Contains(rule.Operations, admissionv1.OperationAll) || slices.Contains(rule.Operations, admissionv1.OperationType(op))
}

// uncertainOperation says whether a rule is for one of the operations that the request can have been, and not the other.
func uncertainOperation(rule *admissionv1.RuleWithOperations, req *replay.Request) bool {
	return req.OrCreate && matchOperation(rule, replay.Create) != matchOperation(rule, replay.Update)
}

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

func matchScope(scope *admissionv1.ScopeType, namespace string, resource schema.GroupVersionResource) bool {
	if scope == nil || *scope == admissionv1.AllScopes {
		return true
	}
	// A Namespace object is cluster-scoped, though its request names a namespace: its own.
	clusterScoped := namespace == "" || resource == namespaceResource
	return clusterScoped == (*scope == admissionv1.ClusterScope)
}

func matchResource(patterns []string, resource, sub string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		r, s, _ := strings.Cut(pattern, "/")
		return (r == "*" || r == resource) && (s == "*" || s == sub)
	})
}

func anyOf(patterns []string, s string) bool {
	return slices.Contains(patterns, "*") || slices.Contains(patterns, s)
}
