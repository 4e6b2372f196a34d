package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// ruleAllows says whether one rule allows the attributes. Field and label selectors do not matter to RBAC.
func ruleAllows(rule *rbacv1.PolicyRule, a authorizer.Attributes) bool {
	if !hasOrAll(rule.Verbs, rbacv1.VerbAll, a.GetVerb()) {
		return false
	}
	if !a.IsResourceRequest() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(pattern string) bool { return urlMatches(pattern, a.GetPath()) })
	}
	return hasOrAll(rule.APIGroups, rbacv1.APIGroupAll, a.GetAPIGroup()) &&
		resourceMatches(rule.Resources, a.GetResource(), a.GetSubresource()) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.GetName()))
}

func hasOrAll(values []string, all, value string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return v == all || v == value })
}

// resourceMatches knows "*" for all resources and subresources, "pods", "pods/log" and "*/scale". "pods/*" is the name
// of a resource that does not exist: RBAC, other than admission, does not know it.
func resourceMatches(patterns []string, resource, subresource string) bool {
	full := resource
	if subresource != "" {
		full += "/" + subresource
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return pattern == rbacv1.ResourceAll || pattern == full || subresource != "" && pattern == "*/"+subresource
	})
}

// urlMatches knows "*", exact paths, and paths that end with one or more "*".
func urlMatches(pattern, path string) bool {
	return pattern == path || strings.HasSuffix(pattern, "*") && strings.HasPrefix(path, strings.TrimRight(pattern, "*"))
}
