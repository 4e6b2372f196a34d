package rbac

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// isNode says whether the Node authorizer looks at a user at all.
func isNode(u user.Info) bool {
	return strings.HasPrefix(u.GetName(), "system:node:") && slices.Contains(u.GetGroups(), user.NodesGroup)
}

// nodeVerbs are the verbs of all rules that the Node authorizer has: it never allows another, nor a path.
var nodeVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// nodeObjects are the resources for which the Node authorizer gives a reason when it does not allow, whatever the verb,
// by group.
var nodeObjects = map[string][]string{
	"":                    {"secrets", "configmaps", "persistentvolumeclaims", "persistentvolumes", "serviceaccounts"},
	"coordination.k8s.io": {"leases"},
	"storage.k8s.io":      {"csinodes", "volumeattachments"},
	"resource.k8s.io":     {"resourceclaims", "resourceslices"},
	"certificates.k8s.io": {"podcertificaterequests"},
}

// nodeAuthorizerDecides says whether the Node authorizer might allow what RBAC does not, or give a reason.
func nodeAuthorizerDecides(a authorizer.Attributes) bool {
	return strings.TrimPrefix(a.GetUser().GetName(), "system:node:") == "" ||
		a.IsResourceRequest() && (slices.Contains(nodeVerbs, a.GetVerb()) || slices.Contains(nodeObjects[a.GetAPIGroup()], a.GetResource()))
}
