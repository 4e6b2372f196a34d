package replay

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// How long after a write is done an apiserver's own caches may still show what was before. Recorded apiservers were
// within 50 ms.
const cacheLag = 50 * time.Millisecond

// How long after a policy or binding is written an apiserver may still act on the one before. It looks once a second.
const policyLag = time.Second

// View is the cluster while one request was admitted. It never changes.
type View struct {
	history   *History
	resources *Resources
	from, to  time.Time
	rbac      *changeLog
	policies  *changeLog
}

// Resources tells the kinds and equivalences that the cluster serves.
func (v View) Resources() *Resources { return v.resources }

// Namespace is the Namespace object of that name. A namespace that is known not to be there has null content.
func (v View) Namespace(name string) Object {
	return v.named(keyOf("", "namespaces", "", name), NoNamespace, true)
}

// Param is the params object of that name.
func (v View) Param(gvr schema.GroupVersionResource, namespace, name string) Object {
	return v.named(keyOf(gvr.Group, gvr.Resource, namespace, name), NoParams, false)
}

func (v View) named(key Key, because Reason, appears bool) Object {
	if v.history == nil {
		return missing(because)
	}
	s, found := v.history.asOf(key, v.from, v.to, cacheLag, appears)
	switch {
	case v.history.unwatched(key.Group, key.Resource, v.from, v.to, found):
		return missing(NotWatched)
	case found && s.deleted:
		return Object{Evidence: Evidence{Level: Presumed}}
	case found:
		return s.Object
	case v.history.wasEvicted(key):
		return missing(Evicted)
	case v.history.isListed(key.Group, key.Resource):
		return Object{Evidence: Evidence{Level: Presumed}}
	case v.history.begun(key.Group, key.Resource):
		return missing(NotKept)
	default:
		return missing(because)
	}
}

// Params are the objects that a selector finds, in the order of their names. The evidence is Missing where an object
// that could belong to them is not known.
func (v View) Params(gvr schema.GroupVersionResource, namespace string, selector labels.Selector) ([]Object, Evidence) {
	switch {
	case v.history == nil:
		return nil, Evidence{Level: Missing, Because: NoParams}
	case v.history.isListed(gvr.Group, gvr.Resource):
	case v.history.begun(gvr.Group, gvr.Resource):
		return nil, Evidence{Level: Missing, Because: NotKept}
	default:
		return nil, Evidence{Level: Missing, Because: NoParams}
	}
	if v.history.unwatched(gvr.Group, gvr.Resource, v.from, v.to, false) {
		return nil, Evidence{Level: Missing, Because: NotWatched}
	}
	if v.history.anyEvicted(gvr.Group, gvr.Resource) {
		return nil, Evidence{Level: Missing, Because: Evicted}
	}
	var out []Object
	for _, key := range v.history.names(gvr.Group, gvr.Resource, namespace) {
		s, found := v.history.asOf(key, v.from, v.to, cacheLag, false)
		switch {
		case !found || s.deleted:
		case s.Level == Missing:
			return nil, s.Evidence
		case covers(s.Unknown, "metadata", "labels") || holds(s.Unknown, []string{"metadata", "labels"}):
			return nil, Evidence{Level: Missing, Because: WritesMissed}
		case selector.Matches(labels.Set(labelsOf(s.Content))):
			out = append(out, s.Object)
		}
	}
	return out, Evidence{Level: Presumed}
}

func labelsOf(content map[string]any) map[string]string {
	metadata, _ := content["metadata"].(map[string]any)
	raw, _ := metadata["labels"].(map[string]any)
	out := make(map[string]string, len(raw))
	for k, val := range raw {
		if s, ok := val.(string); ok {
			out[k] = s
		}
	}
	return out
}

// RBAC is the state of RBAC: which of its changes had taken effect. The evidence is Missing where no RBAC was ever
// shown, or where a write is not shown.
func (v View) RBAC() (ChangeState, Evidence) {
	if v.rbac == nil || !v.rbac.listed {
		return ChangeState{}, Evidence{Level: Missing, Because: NoRBAC}
	}
	if v.history != nil && v.history.rbacUnwatched(v.to) {
		return ChangeState{}, Evidence{Level: Missing, Because: NotWatched}
	}
	state := v.rbac.asOf(v.from, v.to)
	if v.rbac.hides(state.Changes + state.Pending) {
		return ChangeState{}, Evidence{Level: Missing, Because: WritesMissed}
	}
	return state, Evidence{Level: Presumed}
}

// RBACChanges returns the first n changes, those of the snapshot before all others.
func (v View) RBACChanges(n int) []Change { return v.rbac.first(n) }

// Policies is the state of the policies and bindings: which of the changes that the log shows had taken effect.
func (v View) Policies() ChangeState {
	if v.policies == nil {
		return ChangeState{}
	}
	return v.policies.asOf(v.from, v.to)
}

// PolicyChanges returns the first n changes of policies and bindings that the log shows.
func (v View) PolicyChanges(n int) []Change { return v.policies.first(n) }

// Change is one write of an object.
type Change struct {
	Kind, Namespace, Name string
	// Content is nil where the object was deleted, or where the log does not show what was written (Opaque).
	Content map[string]any
	Opaque  bool
	// AuditID names the request that wrote; empty for the snapshot.
	AuditID string
}

// ChangeState names a state: two are equal where the same changes had taken effect.
type ChangeState struct {
	// Changes is how many changes, in the order of Order, had taken effect.
	Changes int
	// Pending is how many of the changes after those may or may not have taken effect.
	Pending int
	// Order goes up when a change comes to light that was done before others already known.
	Order int
}

// Listed says whether the snapshot holds every object of a resource, so that one that is not there does not exist.
func (v View) Listed(group, resource string) bool {
	return v.history != nil && v.history.isListed(group, resource)
}
