package replay

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
)

// left is what a write left behind whose response the log does not show, as far as its request tells.
func left(d *Decoded, resources *Resources) *version {
	ev, opaque := d.Event, &version{}
	if d.response != nil || len(ev.RequestObject) == 0 || d.Operation != Create && d.Operation != Update || hidesMutations(ev) {
		return opaque
	}
	req := &Request{
		Event: ev, Operation: d.Operation, Resource: gvrOf(ev.ObjectRef), SubResource: ev.ObjectRef.Subresource,
		Namespace: ev.ObjectRef.Namespace, Name: ev.ObjectRef.Name, View: View{resources: resources},
	}
	if req.Kind = kindOf(resources, req.Resource, req.SubResource, nil); req.Kind.Kind == "" {
		return opaque
	}
	if req.Name == "" && d.Operation == Create {
		req.Name = createdName(d)
	}
	because := noBody(ev)
	if req.Operation == Update {
		return &version{uid: stringAt(metadataOf(d.request), "uid"), inferred: true, derive: once(func(before Object) Object {
			return stored(req, body(d, req, before, because), because)
		})}
	}
	made := stored(req, body(d, req, null(), because), because)
	if req.Name == "" || made.Level == Missing {
		return opaque
	}
	return &version{inferred: true, derive: func(Object) Object { return made }}
}

// once remembers what was made of the last object: a chain of writes is looked at again and again.
func once(derive func(Object) Object) func(Object) Object {
	type made struct{ of, is Object }
	var last atomic.Pointer[made]
	return func(before Object) Object {
		if m := last.Load(); m != nil && m.of.Level == before.Level && same(m.of.Content, before.Content) {
			return m.is
		}
		m := &made{of: before, is: derive(before)}
		last.Store(m)
		return m.is
	}
}

// stored is an object as it is after it was written.
func stored(req *Request, object Object, because Reason) Object {
	metadata := metadataOf(object.Content)
	switch {
	case object.Level == Missing:
		return missing(WritesMissed)
	case metadata["deletionTimestamp"] != nil && !held(object.Content):
		return missing(WritesMissed) // It may be gone.
	}
	if kind := patchable(req); kind != nil && !kind.custom() {
		content, ok := throughStorage(kind, object.Content)
		if !ok {
			return missing(WritesMissed)
		}
		object.Content = content
	}
	if req.Operation == Create {
		if _, ok := metadata["managedFields"].([]any); !ok || req.Event.Verb != "patch" {
			object.Content = withMetadata(object.Content, map[string]any{"managedFields": []any{}})
		}
	}
	object.Content = withMetadata(object.Content, map[string]any{"resourceVersion": nil})
	object.Unknown = distinct(append(append([]Unknown(nil), object.Unknown...), Unknown{Path: []string{"metadata", "resourceVersion"}, Because: because}))
	return object
}

// throughStorage is what comes back of an object of a built-in kind that is stored: protobuf does not tell empty lists
// and maps from absent ones.
func throughStorage(kind *patchedKind, content map[string]any) (map[string]any, bool) {
	type message interface {
		Marshal() ([]byte, error)
		Unmarshal([]byte) error
	}
	in, out := kind.example(), kind.example()
	if runtime.DefaultUnstructuredConverter.FromUnstructured(content, in) != nil {
		return nil, false
	}
	written, ok := in.(message)
	read, also := out.(message)
	if !ok || !also {
		return nil, false
	}
	data, err := written.Marshal()
	if err != nil || read.Unmarshal(data) != nil {
		return nil, false
	}
	back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(out)
	if err != nil {
		return nil, false
	}
	// Nor does it tell the versions and kinds of the objects in it, which stay as they are.
	return (&newer{storing: true}).keep(nil, kind.goStruct, content, content, back), true
}

// withoutFollowed takes off an object the managedFields that are followed here, and are not those that it had.
func withoutFollowed(object Object) Object {
	for _, u := range object.Unknown {
		if u.String() == "metadata.managedFields" && u.Because != ManagedFieldsOmitted && metadataOf(object.Content)["managedFields"] != nil {
			object.Content = withMetadata(object.Content, map[string]any{"managedFields": nil})
		}
	}
	return object
}
