package policy

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// match checks the match constraints of a policy or the match resources of a binding.
func (c *checker) match(m *admissionv1.MatchResources, path *field.Path) {
	oneOf(c, path.Child("matchPolicy"), m.MatchPolicy, admissionv1.Equivalent, admissionv1.Exact)
	c.selector(m.NamespaceSelector, path.Child("namespaceSelector"))
	c.selector(m.ObjectSelector, path.Child("objectSelector"))
	for i := range m.ResourceRules {
		c.rule(&m.ResourceRules[i], path.Child("resourceRules").Index(i))
	}
	for i := range m.ExcludeResourceRules {
		c.rule(&m.ExcludeResourceRules[i], path.Child("excludeResourceRules").Index(i))
	}
}

func (c *checker) selector(s *metav1.LabelSelector, path *field.Path) {
	if s == nil {
		c.required(path, "")
		return
	}
	c.add(metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)...)
}

// rule checks one rule: the names first, then operations, groups, versions, resources and scope.
func (c *checker) rule(r *admissionv1.NamedRuleWithOperations, path *field.Path) {
	seen := map[string]bool{}
	for i, name := range r.ResourceNames {
		at := path.Child("resourceNames").Index(i)
		for _, detail := range content.IsPathSegmentName(name) {
			c.invalid(at, name, detail)
		}
		if seen[name] {
			c.add(field.Duplicate(at, name))
		}
		seen[name] = true
	}
	c.operations(r.Operations, path.Child("operations"))
	if groups := path.Child("apiGroups"); len(r.APIGroups) == 0 {
		c.required(groups, "")
	} else {
		c.wildcardAlone(r.APIGroups, groups, "API groups")
	}
	c.apiVersions(r.APIVersions, path.Child("apiVersions"))
	c.resources(r.Resources, path.Child("resources"))
	if r.Scope != nil {
		oneOf(c, path.Child("scope"), r.Scope, admissionv1.AllScopes, admissionv1.ClusterScope, admissionv1.NamespacedScope)
	}
}

func (c *checker) wildcardAlone(values []string, path *field.Path, others string) {
	if len(values) > 1 && slices.Contains(values, "*") {
		c.invalid(path, list(c, values, "string"), fmt.Sprintf("if '*' is present, must not specify other %s", others))
	}
}

func (c *checker) operations(operations []admissionv1.OperationType, path *field.Path) {
	if len(operations) == 0 {
		c.required(path, "")
	}
	if len(operations) > 1 && slices.Contains(operations, admissionv1.OperationAll) {
		c.invalid(path, list(c, operations, "admissionregistration.OperationType"), "if '*' is present, must not specify other operations")
	}
	supported := []admissionv1.OperationType{admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create, admissionv1.Delete, admissionv1.Update}
	for i, operation := range operations {
		notSupported(c, path.Index(i), operation, supported)
	}
}

func (c *checker) apiVersions(versions []string, path *field.Path) {
	if len(versions) == 0 {
		c.required(path, "")
	}
	c.wildcardAlone(versions, path, "API versions")
	for i, version := range versions {
		if version == "" {
			c.required(path.Index(i), "")
		}
	}
}

// resources checks names and patterns of resources against each other. It depends on their order, as it does in an
// apiserver: of plain names, only the last one is held against `*`.
func (c *checker) resources(resources []string, path *field.Path) {
	if len(resources) == 0 {
		c.required(path, "")
	}
	allOf, anyWith := map[string]bool{}, map[string]bool{} // pods/* and */scale
	plain := ""
	for i, resource := range resources {
		if resource == "" {
			c.required(path.Index(i), "")
			continue
		}
		name, subresource, ok := strings.Cut(resource, "/")
		if !ok {
			plain = name
			continue
		}
		if allOf[name] {
			c.invalid(path.Index(i), resource, fmt.Sprintf("if '%s/*' is present, must not specify %s", name, resource))
		}
		if anyWith[subresource] {
			c.invalid(path.Index(i), resource, fmt.Sprintf("if '*/%s' is present, must not specify %s", subresource, resource))
		}
		allOf[name] = allOf[name] || subresource == "*"
		anyWith[subresource] = anyWith[subresource] || name == "*"
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		c.invalid(path, list(c, resources, "string"), "if '*/*' is present, must not specify other resources")
	}
	if slices.Contains(resources, "*") && plain != "" && plain != "*" {
		c.invalid(path, list(c, resources, "string"), "if '*' is present, must not specify other resources without subresources")
	}
}
