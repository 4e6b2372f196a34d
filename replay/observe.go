package replay

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	rbacGroup   = "rbac.authorization.k8s.io"
	crdGroup    = "apiextensions.k8s.io"
	policyGroup = "admissionregistration.k8s.io"
)

// horizon is how long a version of an object is kept after a later one took its place: requests that were received
// before may still come to their end, and so be logged, after it.
const horizon = 5 * time.Minute

// Observe takes in what a request left behind: the object's new state, or that it was written and the log does not
// say how.
func (r *Replayer) Observe(d *Decoded) {
	ev := d.Event
	if d.late {
		if r.observeLight(ev) {
			return
		}
		d.decodeBodies()
	}
	op := d.Operation
	if d.NotAdmission == Excluded {
		op = operation(ev)
	}
	if op == "" || op == Connect || !succeeded(ev) {
		return
	}
	if rv, err := strconv.ParseUint(sentRevision(d), 10, 64); err == nil {
		r.history.showed(rv, ev.StageTimestamp)
	}
	if _, dry, _ := options(ev, op, d.request); dry || !mayHaveStored(d, op) {
		return
	}
	resources := r.resourcesAsOf(ev.RequestReceivedTimestamp)
	if ev.Verb == "deletecollection" {
		r.observeCollection(d, resources)
		return
	}
	name := ev.ObjectRef.Name
	if name == "" {
		name = createdName(d)
	}
	if name == "" {
		return // A create of which neither the URI nor a body shows the name.
	}
	v := written(d, op, resources)
	if v == nil {
		return
	}
	if v.inferred && r.hidden(d) {
		v = &version{}
	}
	k := key(ev, resources, name)
	v.from, v.to, v.writer = ev.RequestReceivedTimestamp, ev.StageTimestamp, ev.AuditID
	if v.derive != nil {
		v.event = packEvent(ev)
	}
	r.record(k, v)
}

// written is what a request on a single object left behind; nil where it left the object as it was.
func written(d *Decoded, op Operation, resources *Resources) *version {
	switch sub := d.Event.ObjectRef.Subresource; sub {
	case "token":
		return nil
	case "scale":
		return scaled(d, resources)
	case "binding":
		return bound(d)
	case "eviction":
		return &version{}
	}
	switch {
	case op == Delete:
		return deleted(d.response)
	case isPartialMetadata(d.response):
		return metadataWritten(d)
	case isObject(d.response) && metadataOf(d.response)["deletionTimestamp"] != nil && !held(d.response):
		// The last finalizer went, and the object with it.
		return &version{uid: stringAt(metadataOf(d.response), "uid"), deleted: true}
	case isObject(d.response):
		return &version{uid: stringAt(metadataOf(d.response), "uid"), rv: revision(d.response), content: d.response, raw: d.Event.ResponseObject}
	default:
		return left(d, resources)
	}
}

// deleted is what a DELETE left behind: an object marked for deletion while finalizers or a grace period hold it,
// else nothing.
func deleted(response map[string]any) *version {
	if response == nil {
		return &version{}
	}
	metadata := metadataOf(response)
	if response["kind"] == "Status" {
		details, _ := response["details"].(map[string]any)
		return &version{uid: stringAt(details, "uid"), deleted: true}
	}
	v := &version{uid: stringAt(metadata, "uid")}
	if !held(response) {
		v.deleted = true
		return v
	}
	v.rv, v.content = revision(response), response
	return v
}

// held says whether an object that is being deleted is still there: finalizers or a grace period hold it. A Namespace's
// finalizers are in its spec.
func held(object map[string]any) bool {
	metadata := metadataOf(object)
	if metadata["deletionTimestamp"] == nil {
		return false
	}
	finalizers, _ := metadata["finalizers"].([]any)
	grace, _ := metadata["deletionGracePeriodSeconds"].(int64)
	spec, _ := object["spec"].(map[string]any)
	if namespace, _ := spec["finalizers"].([]any); object["kind"] == "Namespace" && len(namespace) > 0 {
		return true
	}
	return len(finalizers) > 0 || grace > 0
}

// metadataWritten is a write whose client asked for the metadata alone. The rest is as before if the patch named
// nothing else.
func metadataWritten(d *Decoded) *version {
	metadata := metadataOf(d.response)
	v := &version{uid: stringAt(metadata, "uid"), rv: revision(d.response)}
	if metadata["deletionTimestamp"] != nil && !held(d.response) && d.Event.ObjectRef.Resource != "namespaces" {
		return &version{uid: v.uid, deleted: true}
	}
	if patchesMetadataOnly(d) {
		v.derive = derived(func(before map[string]any) map[string]any {
			out := shallow(before)
			out["metadata"] = keepConverted(metadata, before)
			return out
		})
	}
	return v
}

// convertedAnnotations are made where an object is converted to the version that was asked for. A client that asks for
// the metadata alone does not see them.
var convertedAnnotations = []string{
	"autoscaling.alpha.kubernetes.io/metrics", "autoscaling.alpha.kubernetes.io/current-metrics",
	"autoscaling.alpha.kubernetes.io/conditions", "autoscaling.alpha.kubernetes.io/behavior",
	"deprecated.daemonset.template.generation", "deprecated.deployment.rollback.revision",
}

// keepConverted returns the metadata with the annotations of the object before that conversion had made.
func keepConverted(metadata, before map[string]any) map[string]any {
	old, _ := metadataOf(before)["annotations"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = shallow(annotations)
	found := false
	for _, name := range convertedAnnotations {
		if v, ok := old[name]; ok && annotations[name] == nil {
			annotations[name], found = v, true
		}
	}
	if !found {
		return metadata
	}
	out := shallow(metadata)
	out["annotations"] = annotations
	return out
}

// bound is what the binding of a pod to a node leaves behind. The response does not show the pod.
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/binding-v1/
func bound(d *Decoded) *version {
	target, _ := d.request["target"].(map[string]any)
	node := stringAt(target, "name")
	if node == "" || d.request["apiVersion"] != "v1" {
		return &version{}
	}
	var unknown []Unknown
	for _, path := range [][]string{
		{"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "managedFields"},
		{"metadata", "annotations"}, {"metadata", "labels"}, {"status"},
	} {
		unknown = append(unknown, Unknown{Path: path, Because: NotStored})
	}
	return &version{derive: derived(func(before map[string]any) map[string]any {
		return withField(before, []string{"spec", "nodeName"}, node)
	}, unknown...)}
}

// patchesMetadataOnly says whether a request is a patch that leaves all but the metadata as it was.
func patchesMetadataOnly(d *Decoded) bool {
	if d.Event.Verb != "patch" || d.request == nil {
		return false
	}
	for field := range d.request {
		if field != "metadata" && field != "apiVersion" && field != "kind" {
			return false
		}
	}
	return true
}

// observeCollection takes in each item that a deletecollection names. Without the list in the log, every object of
// the collection may be gone.
func (r *Replayer) observeCollection(d *Decoded, resources *Resources) {
	ev := d.Event
	items, _ := d.response["items"].([]any)
	for _, item := range items {
		object, _ := item.(map[string]any)
		name := stringAt(metadataOf(object), "name")
		if name == "" {
			continue
		}
		v := deleted(object)
		v.from, v.to, v.writer = ev.RequestReceivedTimestamp, ev.StageTimestamp, ev.AuditID
		k := key(ev, resources, name)
		if ns := stringAt(metadataOf(object), "namespace"); ns != "" {
			k.Namespace = ns
		}
		r.record(k, v)
	}
	if items != nil {
		return
	}
	namespace := ev.ObjectRef.Namespace
	if namespace == "" {
		namespace = "*"
	}
	for _, k := range r.kept(keyOf(ev.ObjectRef.APIGroup, ev.ObjectRef.Resource, namespace, "")) {
		r.record(k, &version{from: ev.RequestReceivedTimestamp, to: ev.StageTimestamp, writer: ev.AuditID})
	}
}

func (r *Replayer) record(k Key, v *version) {
	known := r.history.inSnapshot(k, v)
	if known && v.watched {
		return
	}
	change := Change{Namespace: k.Namespace, Name: k.Name, Content: v.content, Opaque: v.opaque() || v.derive != nil, AuditID: v.writer}
	r.keep(k, v)
	if known {
		return
	}
	switch k.Group {
	case rbacGroup:
		if change.Kind = rbacKinds[k.Resource]; change.Kind != "" {
			r.rbac.insert(timedChange{Change: change, from: v.from, to: v.to, rv: v.rv, watched: v.watched})
		}
	case policyGroup:
		if change.Kind = policyKinds[k.Resource]; change.Kind != "" {
			r.policies.insert(timedChange{Change: change, from: v.from, to: v.to, rv: v.rv, watched: v.watched})
		}
	case crdGroup:
		if k.Resource == "customresourcedefinitions" {
			r.recordCRD(k.Name, v, change.Content)
		}
	}
}

var policyKinds = map[string]string{
	"validatingadmissionpolicies": "ValidatingAdmissionPolicy", "validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
}

// recordCRD makes the discovery that a CRD's write left behind. CRDs that the log shows no body of leave it as it is.
func (r *Replayer) recordCRD(name string, v *version, content map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.resources[len(r.resources)-1].Resources
	switch {
	case v.deleted:
		next = next.WithoutCRD(name)
	case content != nil:
		with, err := next.WithCRD(content)
		if err != nil {
			return
		}
		next = with
	default:
		return
	}
	r.resources = append(r.resources, timedResources{Resources: next, from: v.from, to: v.to})
}

// kindOf is the kind of a resource as the request names it. A response that shows the whole object tells it too.
func kindOf(resources *Resources, gvr schema.GroupVersionResource, sub string, body map[string]any) schema.GroupVersionKind {
	if gvk, ok := resources.Kind(gvr, sub); ok {
		return gvk
	}
	if sub == "" && isObject(body) {
		gvk := schema.FromAPIVersionAndKind(stringAt(body, "apiVersion"), stringAt(body, "kind"))
		if gvk.Group == gvr.Group && gvk.Version == gvr.Version {
			return gvk
		}
	}
	return schema.GroupVersionKind{}
}
