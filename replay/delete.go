package replay

import (
	"slices"
)

// delete rebuilds what a DELETE of one object found.
func (r *Replayer) delete(d *Decoded, req *Request) {
	req.Object = null()
	k := key(d.Event, req.View.resources, req.Name)
	if !succeeded(d.Event) {
		req.OldObject = r.found(d, k, req)
		if req.Kind.Kind == "Pod" {
			req.Unknown = append(req.Unknown, Unknown{Path: []string{"options", "gracePeriodSeconds"}, Because: RequestFailed})
			eitherPass(req, RequestFailed)
		}
		return
	}
	switch {
	case isObject(d.response):
		req.OldObject = r.doomed(d, k, d.response, req)
		setGracePeriod(req, d.response)
		setPreconditions(req, d.response)
	case d.response["kind"] == "Status":
		req.OldObject = r.deletedState(d, k, req)
	default:
		req.OldObject = missing(noBody(d.Event))
		if s := r.found(d, k, req); s.Level != Missing {
			req.OldObject = s
		}
		guessGracePeriod(d, req)
		if grace, _ := req.Options.Content["gracePeriodSeconds"].(int64); req.Kind.Kind == "Pod" && grace <= 0 {
			eitherPass(req, noBody(d.Event))
		}
	}
}

// eitherPass leaves open what differs between the two passes that a pod's immediate deletion makes through admission,
// where no response tells which of them was the last.
func eitherPass(req *Request, because Reason) {
	if req.OldObject.Level == Missing || req.DryRun {
		return
	}
	unknown := slices.Clone(req.OldObject.Unknown)
	for _, field := range []string{"resourceVersion", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		unknown = append(unknown, Unknown{Path: []string{"metadata", field}, Because: because})
	}
	req.OldObject.Unknown = unknown
}

// guessGracePeriod does for a pod's deletion whose response is not shown what setGracePeriod does, from the pod as it
// was.
func guessGracePeriod(d *Decoded, req *Request) {
	switch {
	case req.Kind.Kind != "Pod" || req.Options.Level == Missing:
	case req.OldObject.Content != nil && len(req.OldObject.Unknown) == 0:
		setGrace(req, podGrace(req.OldObject.Content, req))
	default:
		req.Unknown = append(req.Unknown, Unknown{Path: []string{"options", "gracePeriodSeconds"}, Because: noBody(d.Event)})
	}
}

// deletedState is the state that a DELETE answered with a Status took away: the last one known, of the uid that the
// Status names.
func (r *Replayer) deletedState(d *Decoded, k Key, req *Request) Object {
	details, _ := d.response["details"].(map[string]any)
	s, ok := r.history.latest(k, d.Event.AuditID, "", req.Received, req.Completed)
	if !ok || s.deleted {
		return missing(NoHistory)
	}
	if uid := stringAt(details, "uid"); uid != "" && s.uid != "" && uid != s.uid {
		return missing(NoHistory)
	}
	return s.Object
}

// doomed is what a DELETE found that answered with the object.
func (r *Replayer) doomed(d *Decoded, k Key, response map[string]any, req *Request) Object {
	metadata := metadataOf(response)
	if metadata["deletionTimestamp"] == nil {
		// The object as it was (services, serviceaccounts), but for the resourceVersion, which is the deletion's.
		if s := r.found(d, k, req); s.Level != Missing && stringAt(metadataOf(s.Content), "uid") == stringAt(metadata, "uid") {
			return s
		}
		return Object{Evidence: Evidence{Level: Exact}, Content: response, Unknown: append(managedFields(response),
			Unknown{Path: []string{"metadata", "resourceVersion"}, Because: NoHistory})}
	}
	if req.Kind.Kind == "Pod" && !held(response) && !req.DryRun {
		// A pod that needs no grace is marked first and then deleted, each with a pass through admission of its own; the
		// second one saw the marks.
		return Object{Evidence: Evidence{Level: Presumed}, Content: response, Unknown: append(managedFields(response),
			Unknown{Path: []string{"metadata", "resourceVersion"}, Because: NotStored})}
	}
	s, _, ok := r.history.before(k, stringAt(metadata, "uid"), d.Event.AuditID, revision(response), req.Received, req.Completed)
	if ok && s.Level != Missing && !s.deleted {
		return s.Object
	}
	return unmarked(response)
}

// listed is what a deletecollection found of one item. Its response lists the objects as they were before.
func listed(item map[string]any, req *Request) Object {
	object := Object{Evidence: Evidence{Level: Exact}, Content: item, Unknown: managedFields(item)}
	if req.Kind.Kind != "Pod" {
		return object
	}
	grace := podGrace(item, req)
	metadata := metadataOf(item)
	finalizers, _ := metadata["finalizers"].([]any)
	if grace > 0 || len(finalizers) > 0 || metadata["deletionTimestamp"] != nil || req.DryRun {
		return object
	}
	// The second of two passes saw the marks of the first.
	changes := map[string]any{"deletionGracePeriodSeconds": int64(0)}
	if generation, ok := metadata["generation"].(int64); ok {
		changes["generation"] = generation + 1
	}
	object.Level, object.Content = Presumed, withMetadata(item, changes)
	for _, field := range []string{"resourceVersion", "deletionTimestamp"} {
		object.Unknown = append(object.Unknown, Unknown{Path: []string{"metadata", field}, Because: NotStored})
	}
	return object
}

// podGrace is the grace period, in seconds, that the pod strategy decides on.
// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
func podGrace(pod map[string]any, req *Request) int64 {
	spec, _ := pod["spec"].(map[string]any)
	status, _ := pod["status"].(map[string]any)
	grace, ok := req.Options.Content["gracePeriodSeconds"].(int64)
	if !ok {
		grace, _ = spec["terminationGracePeriodSeconds"].(int64)
	}
	phase := stringAt(status, "phase")
	if stringAt(spec, "nodeName") == "" || phase == "Failed" || phase == "Succeeded" {
		return 0
	}
	if grace < 0 {
		return 1
	}
	return grace
}

// unmarked takes the marks of a deletion off an object, and leaves open what only the state before would tell.
func unmarked(response map[string]any) Object {
	unknown := managedFields(response)
	for _, field := range []string{"resourceVersion", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "managedFields"} {
		unknown = append(unknown, Unknown{Path: []string{"metadata", field}, Because: NoHistory})
	}
	// These say in their status, too, that they are going.
	switch response["kind"] {
	case "Namespace":
		unknown = append(unknown, Unknown{Path: []string{"status", "phase"}, Because: NoHistory})
	case "CustomResourceDefinition":
		unknown = append(unknown, Unknown{Path: []string{"status", "conditions"}, Because: NoHistory})
	}
	return Object{Evidence: Evidence{Level: Presumed}, Content: response, Unknown: unknown}
}

// setGracePeriod writes into the options what the pod strategy writes into them before admission: the grace period
// that it decided on.
func setGracePeriod(req *Request, response map[string]any) {
	if grace, ok := metadataOf(response)["deletionGracePeriodSeconds"].(int64); ok && req.Kind.Kind == "Pod" {
		setGrace(req, grace)
	}
}

// setPreconditions writes into the options of a Namespace's deletion what its strategy writes into them before
// admission: the uid that it found.
func setPreconditions(req *Request, response map[string]any) {
	if req.Kind.Kind != "Namespace" || req.Kind.Group != "" || req.Options.Content == nil {
		return
	}
	old, _ := req.Options.Content["preconditions"].(map[string]any)
	if old["uid"] != nil {
		return
	}
	preconditions := shallow(old)
	preconditions["uid"] = stringAt(metadataOf(response), "uid")
	content := shallow(req.Options.Content)
	content["preconditions"] = preconditions
	req.Options.Content = content
}

func setGrace(req *Request, seconds int64) {
	if req.Options.Content == nil {
		return
	}
	content := shallow(req.Options.Content)
	content["gracePeriodSeconds"] = seconds
	req.Options.Content = content
}

// collection rebuilds the requests of a deletecollection, one an item of the response.
func (r *Replayer) collection(d *Decoded, base *Request) []*Request {
	items, ok := d.response["items"].([]any)
	if !ok || !succeeded(d.Event) {
		base.Object, base.OldObject = null(), missing(noBody(d.Event))
		if base.OldObject.Because == PartialResponse {
			base.OldObject.Because = NoHistory
		}
		base.Perhaps = base.OldObject.Because
		return []*Request{base}
	}
	var out []*Request
	for _, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			continue
		}
		req := *base
		req.Unknown = slices.Clone(base.Unknown)
		object = shallow(object)
		object["apiVersion"], object["kind"] = base.Kind.GroupVersion().String(), base.Kind.Kind
		metadata := metadataOf(object)
		req.ObjectName = stringAt(metadata, "name")
		req.Object = null()
		req.OldObject = listed(object, &req)
		out = append(out, &req)
	}
	return out
}
