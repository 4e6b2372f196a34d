package replay

import (
	"reflect"
	"slices"

	"github.com/vapshadow/vapshadow/ingest"
)

// applied is the object that a server-side apply made.
func applied(d *Decoded, req *Request, because Reason) Object {
	kind := patchable(req)
	if kind == nil || req.SubResource != "" || d.request == nil || absent(d.Event, ingest.AbsentQuery) {
		return missing(because)
	}
	object, ok := kind.apply(Object{}, d.request, queryOf(d.Event).Get("fieldManager"), "", because)
	if ok {
		object, ok = kind.decoded(Object{}, object, because)
	}
	if !ok {
		return missing(because)
	}
	made := whileMade(d, req, object.Content, because)
	made.Unknown = distinct(append(made.Unknown, object.Unknown...))
	return made
}

// patched is the object that a patch made of the one that it found.
func patched(d *Decoded, req *Request, old Object, because Reason) Object {
	kind := patchable(req)
	old, ok := asVersion(old, req)
	if kind == nil || !ok || req.SubResource != "" && req.SubResource != "status" {
		return missing(because)
	}
	var made []Object
	for _, as := range patchTypes(d, kind.custom()) {
		object, ok := kind.patch(as, d, old, because)
		if ok {
			object, ok = kind.decoded(old, object, because)
		}
		if ok {
			made = append(made, object)
		}
	}
	if len(made) == 0 {
		return missing(because)
	}
	object := eitherOf(made, because)
	object.Evidence = Evidence{Level: Presumed}
	return settled(d, req, old, object, because)
}

// asVersion is an object in the version of its API that a request names; ok is false where it cannot be had.
func asVersion(old Object, req *Request) (Object, bool) {
	want := req.Kind.GroupVersion().String()
	switch strategy, custom := req.View.resources.Custom(req.Resource); {
	case old.Level == Missing || old.Content == nil || old.Content["kind"] != req.Kind.Kind:
		return old, false
	case old.Content["apiVersion"] == want:
		return old, true
	case custom && strategy == "None":
		old.Content = shallow(old.Content)
		old.Content["apiVersion"] = want
		return old, true
	}
	return old, false
}

// keptMetadata is the metadata that no update changes.
var keptMetadata = []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "generation", "selfLink", "generateName"}

// settled is the object of an update after webhooks, and after the apiserver gave back to it what an update does not
// change: it is what validating admission sees.
func settled(d *Decoded, req *Request, old, object Object, because Reason) Object {
	old, ok := asVersion(old, req)
	if !ok {
		return missing(because)
	}
	if object = mutate(d, req, old, object, because); object.Level == Missing {
		return object
	}
	if req.SubResource == "status" {
		object = statusOnly(req, old, object, because)
	} else if req.View.resources.has(req.Resource, "status") {
		object = given(object, old, "status")
	}
	if req.Kind.Group == "" && req.Kind.Kind == "Namespace" {
		object = given(object, old, "spec")
	}
	object.Content = withMetadata(object.Content, map[string]any{"name": req.Name, "namespace": namespaceOf(req)})
	for _, field := range keptMetadata {
		object = given(object, old, "metadata", field)
	}
	if d.Event.Verb != "patch" {
		object = given(object, old, "metadata", "managedFields")
	}
	object.Unknown = append(object.Unknown, Unknown{Path: []string{"metadata", "managedFields"}, Because: because})
	if !keepsGeneration(req, old, object) {
		object.Unknown = append(object.Unknown, Unknown{Path: []string{"metadata", "generation"}, Because: because})
	}
	object.Unknown = distinct(object.Unknown)
	return object
}

// given returns an object with a field as another has it, and as far as it is known of that.
func given(object, from Object, path ...string) Object {
	out := object
	out.Unknown = nil
	for _, u := range object.Unknown {
		if !matchesPath(path, u.Path) {
			out.Unknown = append(out.Unknown, u)
		}
	}
	for _, u := range from.Unknown {
		if matchesPath(path, u.Path) || matchesPath(u.Path, path) {
			out.Unknown = append(out.Unknown, u)
		}
	}
	value := fieldAt(from.Content, path)
	if len(path) == 2 {
		out.Content = withMetadata(object.Content, map[string]any{path[1]: value})
		return out
	}
	out.Content = shallow(object.Content)
	if out.Content[path[0]] = value; value == nil {
		delete(out.Content, path[0])
	}
	return out
}

// statusOnly is what a write of the status subresource leaves of an object's change: the status. What it makes of
// labels and annotations differs from kind to kind.
func statusOnly(req *Request, old, object Object, because Reason) Object {
	out := given(old, object, "status")
	out.Evidence = object.Evidence
	if _, custom := req.View.resources.Custom(req.Resource); custom {
		return out
	}
	for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if !reflect.DeepEqual(metadataOf(old.Content)[field], metadataOf(object.Content)[field]) {
			out.Unknown = append(out.Unknown, Unknown{Path: []string{"metadata", field}, Because: because})
		}
	}
	for _, u := range object.Unknown {
		if u.Path[0] == "metadata" && len(u.Path) > 1 && !slices.Contains(keptMetadata, u.Path[1]) {
			out.Unknown = append(out.Unknown, u)
		}
	}
	out.Content = withMetadata(out.Content, map[string]any{"managedFields": metadataOf(object.Content)["managedFields"]})
	return out
}

// ungenerated are the kinds whose objects have no generation.
var ungenerated = []string{
	"/ConfigMap", "/Endpoints", "/Event", "/Secret", "/ServiceAccount", "/Namespace", "/Node", "coordination.k8s.io/Lease",
	"rbac.authorization.k8s.io/ClusterRole", "rbac.authorization.k8s.io/Role", "rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding",
}

// keepsGeneration says whether an update is known not to count as another generation of the object.
func keepsGeneration(req *Request, old, object Object) bool {
	if slices.Contains(ungenerated, req.Kind.Group+"/"+req.Kind.Kind) || req.SubResource == "status" {
		return true
	}
	counts := func(u Unknown) bool { return u.Path[0] != "metadata" && u.Path[0] != "status" }
	if slices.ContainsFunc(old.Unknown, counts) || slices.ContainsFunc(object.Unknown, counts) {
		return false
	}
	hasStatus := req.View.resources.has(req.Resource, "status")
	same := func(field string) bool { return reflect.DeepEqual(old.Content[field], object.Content[field]) }
	for field := range object.Content {
		if field != "metadata" && (field != "status" || !hasStatus) && !same(field) {
			return false
		}
	}
	for field := range old.Content {
		if field != "metadata" && (field != "status" || !hasStatus) && !same(field) {
			return false
		}
	}
	// Deployments count their annotations in.
	_, custom := req.View.resources.Custom(req.Resource)
	return custom || reflect.DeepEqual(metadataOf(old.Content)["annotations"], metadataOf(object.Content)["annotations"])
}
