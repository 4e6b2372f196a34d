package ingest

import (
	"slices"
	"strings"
)

// parseMethod reads what an entry is about. The resource's name has the group as Kubernetes writes it, "core" for the
// one without a name; the method's name has the verb, and tells a subresource from what else may stand behind a name.
//
//	io.k8s.apps.v1.deployments.scale.update   apps/v1/namespaces/shop/deployments/web/scale
func parseMethod(method, resource string) (ref *ObjectReference, verb string, ok bool) {
	words, parts := strings.Split(method, "."), strings.Split(resource, "/")
	if len(words) < 4 || len(parts) < 3 || slices.Contains(parts[:3], "") {
		return nil, "", false
	}
	ref = &ObjectReference{APIGroup: parts[0], APIVersion: parts[1]}
	if ref.APIGroup == "core" {
		ref.APIGroup = ""
	}
	switch n := len(words); {
	case words[n-3] == ref.APIVersion:
		ref.Resource = words[n-2]
	case n > 4 && words[n-4] == ref.APIVersion:
		ref.Resource, ref.Subresource = words[n-3], words[n-2]
	default:
		return nil, "", false
	}
	parts = parts[2:]
	if parts[0] == "namespaces" && ref.Resource != "namespaces" && len(parts) > 2 {
		ref.Namespace, parts = parts[1], parts[2:]
	}
	if parts[0] != ref.Resource {
		return nil, "", false
	}
	if len(parts) > 1 {
		ref.Name = parts[1]
	}
	verb = words[len(words)-1]
	if ref.Resource == "namespaces" && verb != "create" {
		ref.Namespace = ref.Name // as the URI of each but a create says
	}
	return ref, verb, verb != "" && ref.Resource != ""
}

// pathOf is the path of the request. The name of a created object is not in it.
func pathOf(ref *ObjectReference, verb, resource string) string {
	if verb == "create" && ref.Subresource == "" && ref.Name != "" {
		resource = strings.TrimSuffix(resource, "/"+ref.Name)
	}
	if ref.APIGroup == "" {
		return "/api/" + strings.TrimPrefix(resource, "core/")
	}
	return "/apis/" + resource
}
