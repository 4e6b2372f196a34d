// Package rbac answers authorization checks from Roles, ClusterRoles and their bindings as kube-apiserver's chain of
// authorizers does: decision, reason and error, or that the answer cannot be known.
package rbac

import (
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Snapshot is the state of RBAC at one moment. It never changes: With and Without return another, which shares all but
// what was changed. It is safe for concurrent use.
type Snapshot struct {
	supplied bool
	// unnamed says that reasons do not begin with the authorizer's name.
	unnamed bool

	roles        tree[*role] // by namespace and name
	clusterRoles tree[*role] // by name
	// bindings are RoleBindings, and ClusterRoleBindings with an empty namespace, by namespace and name.
	bindings tree[*binding]
	// subjects holds the bindings again, by subject, namespace and name.
	subjects tree[*binding]
}

// role is a Role, or a ClusterRole with an empty namespace.
type role struct {
	name   string
	labels labels.Set
	rules  []rbacv1.PolicyRule
	// aggregate selects the ClusterRoles whose rules this one has.
	aggregate []labels.Selector
}

// object is what is read of each of the four kinds.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string            `json:"namespace"`
		Name      string            `json:"name"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Rules           []rbacv1.PolicyRule     `json:"rules"`
	AggregationRule *rbacv1.AggregationRule `json:"aggregationRule"`
	Subjects        []rbacv1.Subject        `json:"subjects"`
	RoleRef         rbacv1.RoleRef          `json:"roleRef"`
}

// New returns a Snapshot to which no object was supplied yet: it can answer for system:masters only.
func New() *Snapshot { return &Snapshot{} }

// AsOf returns a copy that words reasons as kube-apiserver 1.minor does: from 1.37 the reason of what is not allowed
// begins with the name of the authorizer, which is "rbac" unless an AuthorizationConfiguration says otherwise.
func (s *Snapshot) AsOf(minor int) *Snapshot {
	out := *s
	out.unnamed = minor < 37
	return &out
}

// With returns a copy that holds this Role, ClusterRole, RoleBinding or ClusterRoleBinding of
// rbac.authorization.k8s.io/v1, in the place of an earlier state of it.
func (s *Snapshot) With(content map[string]any) (*Snapshot, error) {
	var o object
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &o); err != nil {
		return nil, fmt.Errorf("reading RBAC object: %w", err)
	}
	if o.APIVersion != rbacv1.SchemeGroupVersion.String() {
		return nil, fmt.Errorf("reading RBAC object: it is a %s %s: want a Role, ClusterRole, RoleBinding or "+
			"ClusterRoleBinding of %s", o.APIVersion, o.Kind, rbacv1.SchemeGroupVersion)
	}
	out, err := s.with(&o)
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", o.Kind, key(o.Metadata.Namespace, o.Metadata.Name), err)
	}
	return out, nil
}

func (s *Snapshot) with(o *object) (*Snapshot, error) {
	if o.Metadata.Name == "" {
		return nil, errors.New("metadata.name is missing")
	}
	namespace, err := o.namespace()
	if err != nil {
		return nil, err
	}
	out := *s.Without(o.Kind, namespace, o.Metadata.Name)
	out.supplied = true
	if o.Kind == "RoleBinding" || o.Kind == "ClusterRoleBinding" {
		b := &binding{kind: o.Kind, namespace: namespace, name: o.Metadata.Name, roleRef: o.RoleRef, subjects: o.Subjects}
		out.bindings = out.bindings.with(b.key(), b)
		for _, subject := range b.indexed() {
			out.subjects = out.subjects.with(subject, b)
		}
		return &out, nil
	}
	r, err := o.role()
	if err != nil {
		return nil, err
	}
	if o.Kind == "Role" {
		out.roles = out.roles.with(key(namespace, r.name), r)
	} else {
		out.clusterRoles = out.clusterRoles.with(r.name, r)
	}
	return &out, nil
}

// Without returns a copy that does not hold this object. namespace is that of a Role or RoleBinding.
func (s *Snapshot) Without(kind, namespace, name string) *Snapshot {
	out := *s
	switch kind {
	case "Role":
		out.roles = out.roles.without(key(namespace, name))
	case "ClusterRole":
		out.clusterRoles = out.clusterRoles.without(name)
	case "ClusterRoleBinding", "RoleBinding":
		if kind == "ClusterRoleBinding" {
			namespace = ""
		}
		b, ok := out.bindings.get(key(namespace, name))
		if !ok || b.kind != kind {
			return s
		}
		out.bindings = out.bindings.without(b.key())
		for _, subject := range b.indexed() {
			out.subjects = out.subjects.without(subject)
		}
	}
	return &out
}

// namespace is that of the object, which its kind must agree with.
func (o *object) namespace() (string, error) {
	switch o.Kind {
	case "Role", "RoleBinding":
		if o.Metadata.Namespace == "" {
			return "", errors.New("metadata.namespace is missing")
		}
		return o.Metadata.Namespace, nil
	case "ClusterRole", "ClusterRoleBinding":
		return "", nil
	}
	return "", errors.New("want a Role, ClusterRole, RoleBinding or ClusterRoleBinding")
}

func (o *object) role() (*role, error) {
	r := &role{name: o.Metadata.Name, labels: o.Metadata.Labels, rules: o.Rules}
	if o.AggregationRule == nil {
		return r, nil
	}
	for i := range o.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&o.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, fmt.Errorf("aggregationRule.clusterRoleSelectors[%d]: %w", i, err)
		}
		r.aggregate = append(r.aggregate, selector)
	}
	return r, nil
}

func key(namespace, name string) string { return namespace + "/" + name }
