package replay

import (
	"maps"
	"strings"

	"github.com/vapshadow/vapshadow/ingest"
)

// A request's body shows the object as the apiserver decoded it: defaulted, but before mutating admission and before
// the resource's own strategy filled in the rest. For the kinds below it is known what those add. All else in them is
// presumed to be as sent, unless a webhook says that it changed the object.
//
// The fields, by kind, that may be added to or changed on the way from the body of a create to validating admission,
// besides the metadata of addedMetadata and the status.
var addedOnCreate = map[string][]string{
	"/ConfigMap": {}, "/Endpoints": {}, "/Event": {}, "/Secret": {}, "/ServiceAccount": {},
	"/Namespace":                                   {"spec", "metadata.labels"},
	"/Node":                                        {"spec.taints"},
	"/PersistentVolumeClaim":                       {"metadata.finalizers", "spec.storageClassName"},
	"/Service":                                     {"spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy", "spec.ports", "spec.healthCheckNodePort"},
	"/Pod":                                         podAdded,
	"apps/ControllerRevision":                      {},
	"apps/DaemonSet":                               {"metadata.annotations"},
	"apps/Deployment":                              {},
	"apps/ReplicaSet":                              {},
	"apps/StatefulSet":                             {},
	"autoscaling/HorizontalPodAutoscaler":          {},
	"batch/CronJob":                                {},
	"batch/Job":                                    {"spec.selector", "spec.template.metadata", "spec.manualSelector"},
	"coordination.k8s.io/Lease":                    {},
	"discovery.k8s.io/EndpointSlice":               {},
	"networking.k8s.io/IPAddress":                  {},
	"networking.k8s.io/Ingress":                    {"spec.ingressClassName", "metadata.annotations"},
	"networking.k8s.io/NetworkPolicy":              {},
	"policy/PodDisruptionBudget":                   {},
	"rbac.authorization.k8s.io/ClusterRole":        {},
	"rbac.authorization.k8s.io/Role":               {},
	"rbac.authorization.k8s.io/RoleBinding":        {},
	"rbac.authorization.k8s.io/ClusterRoleBinding": {},
}

// podAdded is what the admission plugins that are on by default may do to a pod.
var podAdded = []string{
	"metadata.annotations", "spec.volumes", "spec.containers.*.volumeMounts", "spec.containers.*.resources",
	"spec.initContainers.*.volumeMounts", "spec.initContainers.*.resources", "spec.tolerations",
	"spec.serviceAccountName", "spec.serviceAccount", "spec.imagePullSecrets", "spec.priority", "spec.priorityClassName",
	"spec.preemptionPolicy", "spec.overhead", "spec.nodeSelector", "spec.runtimeClassName", "spec.schedulingGates",
}

var (
	addedMetadata   = []string{"uid", "creationTimestamp", "generation", "managedFields"}
	changedMetadata = []string{"generation", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"}
	// wipedMetadata is taken off the object of a create before admission.
	wipedMetadata = map[string]any{"deletionTimestamp": nil, "deletionGracePeriodSeconds": nil, "selfLink": nil}
)

// sent is the object of a create or an update whose response does not show it, as far as the request's body tells. old
// is the object that an update found, which may be Missing.
func (r *Replayer) sent(d *Decoded, req *Request, old Object, because Reason) Object {
	if r.hidden(d) {
		return missing(Mutated)
	}
	object := body(d, req, old, because)
	if object.Content != nil && (object.Content["kind"] != req.Kind.Kind || object.Content["apiVersion"] != req.Kind.GroupVersion().String()) {
		return missing(because) // The body would make another kind of it, which the apiserver does not accept.
	}
	return object
}

// hidden says whether admission changed the object in a way that the log does not show.
func (r *Replayer) hidden(d *Decoded) bool {
	return hidesMutations(d.Event) || len(r.history.names("admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "")) > 0
}

// body is what sent is where admission's mutations are shown.
func body(d *Decoded, req *Request, old Object, because Reason) Object {
	switch {
	case !reached(d.Event):
		return missing(because)
	case d.Event.Verb == "patch" && req.Operation == Create:
		return applied(d, req, because)
	case d.Event.Verb == "patch":
		return patched(d, req, old, because)
	}
	_, known := addedOnCreate[req.Kind.Group+"/"+req.Kind.Kind]
	if _, custom := req.View.resources.Custom(req.Resource); custom {
		known = true
	}
	switch {
	case !known || !isObject(d.request) || stringAt(d.request, "apiVersion") != req.Kind.GroupVersion().String():
		return missing(because)
	case req.Operation == Create && req.SubResource != "":
		return missing(because)
	case req.Operation == Create:
		return whileMade(d, req, d.request, because)
	}
	return put(d, req, old, because)
}

// whileMade is a new object as validating admission saw it, made from what the client sent of it.
func whileMade(d *Decoded, req *Request, content map[string]any, because Reason) Object {
	changes := map[string]any{"namespace": namespaceOf(req), "name": req.Name}
	maps.Copy(changes, wipedMetadata)
	object := Object{Evidence: Evidence{Level: Presumed}, Content: withMetadata(content, changes)}
	add := func(path ...string) {
		object.Unknown = append(object.Unknown, Unknown{Path: path, Because: because})
	}
	if _, hasStatus := content["status"]; hasStatus || req.View.resources.has(req.Resource, "status") {
		add("status")
	}
	if req.Name == "" {
		add("metadata", "name")
	}
	for _, path := range addedOnCreate[req.Kind.Group+"/"+req.Kind.Kind] {
		add(strings.Split(path, ".")...)
	}
	for _, field := range addedMetadata {
		add("metadata", field)
	}
	return mutate(d, req, Object{}, object, because)
}

// put is the object of an update that sent it whole.
func put(d *Decoded, req *Request, old Object, because Reason) Object {
	if req.SubResource != "" && old.Level == Missing {
		return missing(because)
	}
	object := Object{Evidence: Evidence{Level: Presumed}, Content: withMetadata(d.request, map[string]any{"namespace": namespaceOf(req)})}
	add := func(path ...string) {
		object.Unknown = append(object.Unknown, Unknown{Path: path, Because: because})
	}
	if req.Kind.Group == "" && req.Kind.Kind == "Service" {
		for _, path := range addedOnCreate["/Service"] {
			add(strings.Split(path, ".")...)
		}
	}
	if old.Level != Missing {
		return settled(d, req, old, object, because)
	}
	if _, hasStatus := d.request["status"]; hasStatus || req.View.resources.has(req.Resource, "status") {
		add("status")
	}
	for _, field := range []string{"uid", "creationTimestamp", "resourceVersion"} {
		if metadataOf(d.request)[field] == nil {
			add("metadata", field)
		}
	}
	for _, field := range changedMetadata {
		add("metadata", field)
	}
	return mutate(d, req, Object{}, object, because)
}

// namespaceOf is the namespace that the apiserver writes into an object whose body leaves it to the URI; nil for one
// that is in none. A Namespace is not in itself, though its requests are.
func namespaceOf(req *Request) any {
	if namespaced, ok := req.View.resources.Namespaced(req.Resource); ok && !namespaced || req.Namespace == "" {
		return nil
	}
	return req.Namespace
}

// reached says whether a request is known to have come as far as policies. One that fails may have been stopped before:
// by validation, by quota, by a conflict.
func reached(ev *ingest.Event) bool {
	if succeeded(ev) {
		return true
	}
	message := ""
	if ev.ResponseStatus != nil {
		message = ev.ResponseStatus.Message
	}
	return strings.Contains(message, "ValidatingAdmissionPolicy '") ||
		code(ev) == 409 && ev.Verb == "create" && strings.Contains(message, "already exists")
}
