package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

var _ authorizer.UnconditionalAuthorizer = (*Snapshot)(nil)

// Authorize answers as a kube-apiserver with the authorization modes Node and RBAC: system:masters may do everything,
// and all others what their roles allow. The error is an ErrUnknown where the answer cannot be known.
//
// Where several bindings allow, the apiserver names any of them in the reason. Here it is the first ClusterRoleBinding
// by name, or else the first RoleBinding.
func (s *Snapshot) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	u := a.GetUser()
	if u == nil {
		return authorizer.DecisionNoOpinion, "", errors.New("no user on request")
	}
	if slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "", nil
	}
	if !s.supplied {
		return authorizer.DecisionNoOpinion, "", ErrUnknown{Because: NoRBAC}
	}
	by, errs := s.allows(u, a)
	if by != "" {
		return authorizer.DecisionAllow, "RBAC: allowed by " + by, nil
	}
	if isNode(u) && nodeAuthorizerDecides(a) {
		return authorizer.DecisionNoOpinion, "", ErrUnknown{Because: NodeAuthorizer}
	}
	return authorizer.DecisionNoOpinion, s.refusal(errs), nil
}

// refusal is the reason for no opinion: which roles could not be found.
func (s *Snapshot) refusal(errs []error) string {
	if len(errs) == 0 {
		return ""
	}
	reason := fmt.Sprintf("RBAC: %v", utilerrors.NewAggregate(errs))
	if s.unnamed {
		return reason
	}
	return "rbac: " + reason
}

// allows returns by what the attributes are allowed, or else the errors on the way.
func (s *Snapshot) allows(u user.Info, a authorizer.Attributes) (by string, errs []error) {
	scopes := []string{""}
	if namespace := a.GetNamespace(); namespace != "" {
		scopes = append(scopes, namespace)
	}
	for _, scope := range scopes {
		for _, b := range s.boundTo(u, scope) {
			subject := b.subject(u)
			if subject == nil {
				continue
			}
			rules, err := s.rules(b)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			for i := range rules {
				if ruleAllows(&rules[i], a) {
					return b.describe(subject), nil
				}
			}
		}
	}
	return "", errs
}

// rules are those of the role that a binding refers to. The errors are worded as the apiserver's.
func (s *Snapshot) rules(b *binding) ([]rbacv1.PolicyRule, error) {
	name := b.roleRef.Name
	switch b.roleRef.Kind {
	case "Role":
		if r, ok := s.roles.get(key(b.namespace, name)); ok {
			return r.rules, nil
		}
		return nil, apierrors.NewNotFound(rbacv1.Resource("role"), name)
	case "ClusterRole":
		if r, ok := s.clusterRoles.get(name); ok {
			return s.aggregated(r), nil
		}
		return nil, apierrors.NewNotFound(rbacv1.Resource("clusterrole"), name)
	}
	return nil, fmt.Errorf("unsupported role reference kind: %q", b.roleRef.Kind)
}
