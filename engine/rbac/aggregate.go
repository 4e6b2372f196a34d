package rbac

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// aggregated are the rules of a ClusterRole. A controller writes those that an aggregationRule selects into the
// ClusterRole, and the authorizer reads only what is written. So they are worked out here only where none are written:
// in manifests as people apply them. In a snapshot of a cluster no rules means that the selectors find none, and the
// result is the same.
func (s *Snapshot) aggregated(r *role) []rbacv1.PolicyRule {
	if len(r.rules) > 0 || len(r.aggregate) == 0 {
		return r.rules
	}
	return s.selected(r, nil)
}

// selected goes from one aggregated ClusterRole to the next, as edit is part of admin; above are those on the way here.
func (s *Snapshot) selected(r *role, above []*role) []rbacv1.PolicyRule {
	if len(r.rules) > 0 {
		return r.rules
	}
	above = append(above, r)
	var rules []rbacv1.PolicyRule
	for _, selector := range r.aggregate {
		s.clusterRoles.under("", func(other *role) bool {
			if slices.Contains(above, other) || !selector.Matches(other.labels) {
				return true
			}
			for _, rule := range s.selected(other, above) {
				if !slices.ContainsFunc(rules, func(known rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(known, rule) }) {
					rules = append(rules, rule)
				}
			}
			return true
		})
	}
	return rules
}
