package rbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// binding is a RoleBinding, or a ClusterRoleBinding with an empty namespace. It is never changed.
type binding struct {
	kind, namespace, name string
	roleRef               rbacv1.RoleRef
	subjects              []rbacv1.Subject
}

func (b *binding) key() string { return key(b.namespace, b.name) }

// indexed are the keys of a binding among Snapshot.subjects, one a subject that can be somebody.
func (b *binding) indexed() []string {
	var keys []string
	for i := range b.subjects {
		subject := &b.subjects[i]
		switch subject.Kind {
		case rbacv1.UserKind:
			keys = append(keys, indexKey(userPrefix+subject.Name, b.namespace)+b.name)
		case rbacv1.GroupKind:
			keys = append(keys, indexKey(groupPrefix+subject.Name, b.namespace)+b.name)
		case rbacv1.ServiceAccountKind:
			if namespace := b.accountNamespace(subject); namespace != "" {
				keys = append(keys, indexKey(userPrefix+serviceaccount.MakeUsername(namespace, subject.Name), b.namespace)+b.name)
			}
		}
	}
	return keys
}

const userPrefix, groupPrefix = "user:", "group:"

// indexKey is where the keys of a subject's bindings in a namespace begin.
func indexKey(subject, namespace string) string { return subject + "\x00" + namespace + "\x00" }

// accountNamespace is that of a ServiceAccount: where the subject names none, the binding's.
func (b *binding) accountNamespace(subject *rbacv1.Subject) string {
	if subject.Namespace != "" {
		return subject.Namespace
	}
	return b.namespace
}

// subject returns the first subject that the user is.
func (b *binding) subject(u user.Info) *rbacv1.Subject {
	for i := range b.subjects {
		if b.is(&b.subjects[i], u) {
			return &b.subjects[i]
		}
	}
	return nil
}

func (b *binding) is(subject *rbacv1.Subject, u user.Info) bool {
	switch subject.Kind {
	case rbacv1.UserKind:
		return subject.Name == u.GetName()
	case rbacv1.GroupKind:
		return slices.Contains(u.GetGroups(), subject.Name)
	case rbacv1.ServiceAccountKind:
		namespace := b.accountNamespace(subject)
		return namespace != "" && serviceaccount.MatchesUsername(namespace, subject.Name, u.GetName())
	}
	return false
}

// describe words the binding as reasons do: names come before namespaces.
func (b *binding) describe(subject *rbacv1.Subject) string {
	name, who := b.name, subject.Name
	if b.namespace != "" {
		name += "/" + b.namespace
	}
	if subject.Kind == rbacv1.ServiceAccountKind {
		who += "/" + b.accountNamespace(subject)
	}
	return fmt.Sprintf("%s %q of %s %q to %s %q", b.kind, name, b.roleRef.Kind, b.roleRef.Name, subject.Kind, who)
}

// boundTo returns the bindings of a user in a namespace, or of the cluster where it is empty, in order of their names.
// The apiserver goes through them in no order; by name is as good as any, and always the same.
func (s *Snapshot) boundTo(u user.Info, namespace string) []*binding {
	var bound []*binding
	add := func(subject string) {
		s.subjects.under(indexKey(subject, namespace), func(b *binding) bool {
			bound = append(bound, b)
			return true
		})
	}
	add(userPrefix + u.GetName())
	for _, group := range u.GetGroups() {
		add(groupPrefix + group)
	}
	slices.SortFunc(bound, func(a, b *binding) int { return strings.Compare(a.name, b.name) })
	return slices.Compact(bound)
}
