package replay

import (
	"slices"
	"strconv"

	"github.com/vapshadow/vapshadow/ingest"
)

// Requests rebuilds the admission requests of an event: none where NotAdmission says so, one an item for a
// deletecollection. Observe must have seen the event, and what was logged shortly after it.
func (r *Replayer) Requests(d *Decoded) []*Request {
	if d.Operation == "" {
		return nil
	}
	if d.late {
		d.decodeBodies()
	}
	base := r.base(d)
	switch {
	case d.Operation == Connect:
		base.Object, base.OldObject = connectObject(d.Event, base.Kind), null()
	case d.Event.Verb == "deletecollection":
		return r.collection(d, base)
	case d.Operation == Create:
		r.create(d, base)
	case d.Operation == Update:
		r.update(d, base)
		r.orCreate(d, base)
	case d.Operation == Delete:
		r.delete(d, base)
	}
	r.because(d, base)
	base.Object, base.OldObject = withoutFollowed(base.Object), withoutFollowed(base.OldObject)
	if base.SubResource != "scale" {
		base.Object.Other = base.View.resources.otherNumbers(base.Resource, base.Object.Content)
	}
	return []*Request{base}
}

// base is what the URI, the user and the times of an event tell.
func (r *Replayer) base(d *Decoded) *Request {
	ev, ref := d.Event, d.Event.ObjectRef
	req := &Request{
		Event: ev, Operation: d.Operation, Resource: gvrOf(ref), SubResource: ref.Subresource,
		Namespace: ref.Namespace, Name: ref.Name, User: ev.User,
		Received: ev.RequestReceivedTimestamp, Completed: ev.StageTimestamp,
	}
	if ev.ImpersonatedUser != nil {
		req.User = *ev.ImpersonatedUser
	}
	req.View = r.View(req.Received, req.Completed)
	req.Kind = kindOf(req.View.resources, req.Resource, req.SubResource, d.response)
	req.Options, req.DryRun, req.Unknown = options(ev, d.Operation, d.request)
	req.Unknown = append(req.Unknown, userUnknown(ev)...)
	if req.Name == "" && d.Operation == Create {
		req.Name = createdName(d)
		if req.Name == "" {
			req.Unknown = append(req.Unknown, Unknown{Path: []string{"name"}, Because: noBody(ev)})
		}
	}
	if req.Resource.Group == "" && req.Resource.Resource == "namespaces" && req.Namespace == "" {
		req.Namespace = req.Name
	}
	if ev.Verb == "deletecollection" {
		req.Name = ""
	}
	req.ObjectName = req.Name
	return req
}

// createdName is the final name of a create that names none in its URI.
func createdName(d *Decoded) string {
	if isObject(d.response) || isPartialMetadata(d.response) {
		return stringAt(metadataOf(d.response), "name")
	}
	return stringAt(metadataOf(d.request), "name")
}

// truncated says whether an audit backend, or what stands behind it, took the bodies off an event that was too large for
// it.
// https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
func truncated(ev *ingest.Event) bool {
	return ev.Annotations["audit.k8s.io/truncated"] == "true" || absent(ev, ingest.AbsentRequest) || absent(ev, ingest.AbsentResponse)
}

// noBody says why an event shows no object.
func noBody(ev *ingest.Event) Reason {
	switch {
	case ev.Level == ingest.LevelMetadata:
		return NoBody
	case truncated(ev):
		return Truncated
	case !succeeded(ev):
		return RequestFailed
	case ev.Level == ingest.LevelRequest:
		return NoResponseBody
	default:
		return PartialResponse
	}
}

func (r *Replayer) create(d *Decoded, req *Request) {
	req.OldObject = null()
	switch req.SubResource {
	case "binding", "eviction":
		req.Object = posted(d, req)
		return
	}
	if !succeeded(d.Event) || !isObject(d.response) {
		req.Object = r.sent(d, req, null(), noBody(d.Event))
		return
	}
	content := withMetadata(d.response, map[string]any{"resourceVersion": sentOrNil(d)})
	switch {
	case req.Kind.Kind == "PersistentVolumeClaim":
		content = without(content, "status", "phase")
	case req.SubResource == "token":
		content = withoutToken(content)
	}
	content = asSent(content, d)
	req.Object = Object{Evidence: Evidence{Level: Exact}, Content: content, Unknown: managedFields(content)}
}

// sentOrNil is the resourceVersion that admission sees in a create: the client's, if it sent one.
func sentOrNil(d *Decoded) any {
	if sent := stringAt(metadataOf(d.request), "resourceVersion"); sent != "" {
		return sent
	}
	return nil
}

// posted is the object of a create that answers with something else: what the client sent.
func posted(d *Decoded, req *Request) Object {
	if !isObject(d.request) {
		return missing(noBody(d.Event))
	}
	content := withMetadata(d.request, map[string]any{"name": req.Name, "namespace": req.Namespace})
	if dry, ok := req.Options.Content["dryRun"]; ok && req.SubResource == "eviction" {
		carryDryRun(content, dry)
	}
	return Object{
		Evidence: Evidence{Level: Presumed},
		Content:  content,
		Unknown:  []Unknown{{Path: []string{"metadata", "managedFields"}, Because: NotStored}},
	}
}

// carryDryRun does what the eviction handler does before admission: the request's dryRun becomes the deletion's.
func carryDryRun(eviction map[string]any, dry any) {
	old, _ := eviction["deleteOptions"].(map[string]any)
	if _, ok := old["dryRun"]; ok {
		return
	}
	if old == nil {
		return
	}
	deletion := shallow(old)
	deletion["dryRun"] = dry
	eviction["deleteOptions"] = deletion
}

// managedFields are unknown where the log leaves them out: admission always saw them, and an object that was written
// through the API has them.
func managedFields(content map[string]any) []Unknown {
	if fields, ok := metadataOf(content)["managedFields"].([]any); ok && len(fields) > 0 {
		return nil
	}
	return []Unknown{{Path: []string{"metadata", "managedFields"}, Because: ManagedFieldsOmitted}}
}

// without takes a field out of a nested object; what is left empty stays.
func without(content map[string]any, outer, inner string) map[string]any {
	nested, ok := content[outer].(map[string]any)
	if !ok {
		return content
	}
	nested = shallow(nested)
	delete(nested, inner)
	out := shallow(content)
	out[outer] = nested
	return out
}

// withoutToken takes the issued token off a TokenRequest: admission ran before it was issued.
func withoutToken(content map[string]any) map[string]any {
	out := shallow(content)
	out["status"] = map[string]any{"token": "", "expirationTimestamp": nil}
	return out
}

func (r *Replayer) update(d *Decoded, req *Request) {
	k := key(d.Event, req.View.resources, req.Name)
	partial := isPartialMetadata(d.response) && patchesMetadataOnly(d)
	if !succeeded(d.Event) || !isObject(d.response) && !partial {
		req.OldObject = r.found(d, k, req)
		req.Object = r.sent(d, req, req.OldObject, noBody(d.Event))
		if !succeeded(d.Event) && req.SubResource == "" && !r.exists(d, k, req) {
			req.OrCreate = true
			req.Unknown = append(req.Unknown, Unknown{Path: []string{"operation"}, Because: RequestFailed})
			req.Options = missing(RequestFailed)
			req.OldObject = missing(NoHistory)
		}
		return
	}
	old := r.old(d, k, req)
	req.OldObject = old
	content, unknown := d.response, managedFields(d.response)
	evidence := Evidence{Level: Exact}
	switch {
	case partial && old.Level == Missing:
		req.Object = missing(PartialResponse)
		return
	case partial:
		content, evidence = shallow(old.Content), old.Evidence
		content["metadata"] = keepConverted(metadataOf(d.response), old.Content)
		unknown = append(unknown, outsideMetadata(old.Unknown)...)
	case req.SubResource == "scale":
		unknown = nil
		req.OldObject = oldScale(d.response, old, req)
	}
	if evidence.Level == Exact {
		content = asSent(content, d)
	}
	oldRevision := ""
	if !slices.ContainsFunc(old.Unknown, func(u Unknown) bool { return u.String() == "metadata.resourceVersion" }) {
		oldRevision = stringAt(metadataOf(old.Content), "resourceVersion")
	}
	if sent := sentRevision(d); sent != "" {
		oldRevision = sent
	} else if showsFound(d, req) {
		oldRevision = stringAt(metadataOf(d.response), "resourceVersion")
	}
	if oldRevision != "" {
		content = withMetadata(content, map[string]any{"resourceVersion": oldRevision})
	} else {
		unknown = append(unknown, Unknown{Path: []string{"metadata", "resourceVersion"}, Because: NoHistory})
	}
	req.Object = Object{Evidence: evidence, Content: content, Unknown: unknown}
}

// exists says whether an object is known to have been there when the request came. A client that names a
// resourceVersion or a uid has seen it.
func (r *Replayer) exists(d *Decoded, k Key, req *Request) bool {
	if sentRevision(d) != "" || d.Event.ObjectRef.UID != "" {
		return true
	}
	s, ok := r.history.latest(k, d.Event.AuditID, wrote(d), req.Received, req.Completed)
	return ok && !s.deleted && s.Level != Missing
}

func outsideMetadata(unknown []Unknown) []Unknown {
	var out []Unknown
	for _, u := range unknown {
		if u.Path[0] != "metadata" {
			out = append(out, u)
		}
	}
	return out
}

// sentRevision is the resourceVersion that the client demanded to find; the request succeeded, so it did.
func sentRevision(d *Decoded) string {
	if d.request == nil || d.Event.Verb != "update" && d.Event.Verb != "patch" {
		return ""
	}
	return stringAt(metadataOf(d.request), "resourceVersion")
}

// showsFound says whether the response of an update has the resourceVersion that was there before: a dry run stores
// nothing, nor does an update that takes away the last that held a deleted object.
func showsFound(d *Decoded, req *Request) bool {
	released := metadataOf(d.response)["deletionTimestamp"] != nil && !held(d.response)
	return req.DryRun || released && d.Event.ObjectRef.Resource != "namespaces"
}

// old is what an update that answered with the whole object found.
func (r *Replayer) old(d *Decoded, k Key, req *Request) Object {
	metadata := metadataOf(d.response)
	if showsFound(d, req) {
		return r.exactly(k, stringAt(metadata, "resourceVersion"), stringAt(metadata, "uid"))
	}
	s, noop, found := r.history.before(k, stringAt(metadata, "uid"), d.Event.AuditID, revision(d.response), req.Received, req.Completed)
	if !found {
		s.Object = missing(NoHistory)
	}
	sent := sentRevision(d)
	if sent == "" || noop && s.rv == sent {
		return s.Object
	}
	if s.Level != Missing && s.rv == sent {
		return s.proven()
	}
	if o := r.exactly(k, sent, stringAt(metadata, "uid")); o.Level != Missing {
		return o
	}
	return named(s, d)
}

// exactly is the state of an object of which the client named the resourceVersion.
func (r *Replayer) exactly(k Key, sent, uid string) Object {
	rv, err := strconv.ParseUint(sent, 10, 64)
	if err != nil {
		return missing(NoHistory)
	}
	s, ok := r.history.at(k, rv)
	if !ok || s.Level == Missing || uid != "" && s.uid != uid {
		return missing(NoHistory)
	}
	return s.proven()
}

// proven is the object of a state that a resourceVersion proves to be the one that was found.
func (s state) proven() Object {
	if !s.inferred {
		s.Level = Exact
	}
	return s.Object
}

// named is the state that a request found which named its resourceVersion, where the state itself does not show one.
func named(s state, d *Decoded) Object {
	sent := metadataOf(d.request)
	if s.Level == Missing || s.deleted || s.rv != "" || !reached(d.Event) || !covers(s.Unknown, "metadata", "resourceVersion") {
		return missing(NoHistory)
	}
	out := s.Object
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp"} {
		if value := sent[field]; value != nil && covers(out.Unknown, "metadata", field) {
			out = given(out, Object{Content: d.request}, "metadata", field)
		}
	}
	return out
}

// wrote is the operation of a request that succeeded.
func wrote(d *Decoded) Operation {
	if !succeeded(d.Event) {
		return ""
	}
	return d.Operation
}

// found is the object that a request found whose response does not show it.
func (r *Replayer) found(d *Decoded, k Key, req *Request) Object {
	if req.SubResource == "scale" {
		return missing(NoHistory)
	}
	if sent := sentRevision(d); sent != "" {
		// A request that named a stale resourceVersion did not come as far as admission.
		if o := r.exactly(k, sent, ""); o.Level != Missing {
			return o
		}
		if s, ok := r.history.latest(k, d.Event.AuditID, wrote(d), req.Received, req.Completed); ok {
			return named(s, d)
		}
		return missing(NoHistory)
	}
	s, ok := r.history.latest(k, d.Event.AuditID, wrote(d), req.Received, req.Completed)
	switch {
	case !ok || s.deleted:
		return missing(NoHistory)
	default:
		return s.Object
	}
}
