package replay

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pinned are the resources whose objects any request may hang on. They are kept whatever Config.Keep says, and stay
// however small the limit.
var pinned = map[[2]string]bool{
	{"", "namespaces"}:                                 true,
	{rbacGroup, "roles"}:                               true,
	{rbacGroup, "clusterroles"}:                        true,
	{rbacGroup, "rolebindings"}:                        true,
	{rbacGroup, "clusterrolebindings"}:                 true,
	{crdGroup, "customresourcedefinitions"}:            true,
	{policyGroup, "validatingadmissionpolicies"}:       true,
	{policyGroup, "validatingadmissionpolicybindings"}: true,
	{policyGroup, "mutatingadmissionpolicybindings"}:   true,
}

// keeps says whether the objects of a resource are kept.
func (r *Replayer) keeps(group, resource string) bool {
	if r.config.Keep == nil || pinned[[2]string{group, resource}] {
		return true
	}
	known, ok := r.keeping.Load([2]string{group, resource})
	if !ok {
		known = r.ask(group, resource)
	}
	return known == true
}

// ask remembers what Keep says, but never what Rekeep would no longer hear of.
func (r *Replayer) ask(group, resource string) bool {
	r.asking.Lock()
	defer r.asking.Unlock()
	keep := r.config.Keep(group, resource)
	r.keeping.Store([2]string{group, resource}, keep)
	return keep
}

// Rekeep asks Config.Keep anew, whose answers have changed: about the resources that were not kept so far. Those that
// it needs now are returned, and kept from here on; what their objects were before is Missing, because of NotKept. What
// was kept stays kept, so that no history has a gap.
func (r *Replayer) Rekeep() []schema.GroupResource {
	r.asking.Lock()
	defer r.asking.Unlock()
	var begun []schema.GroupResource
	r.keeping.Range(func(k, known any) bool {
		resource := k.([2]string)
		if known == true || !r.config.Keep(resource[0], resource[1]) {
			return true
		}
		r.history.begin(resource)
		r.keeping.Store(resource, true)
		begun = append(begun, schema.GroupResource{Group: resource[0], Resource: resource[1]})
		return true
	})
	slices.SortFunc(begun, func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
	return begun
}

// ownersOnly marks the resource of objects of which no more is kept than whose they are: those that stand between an
// object and the workload that a person made.
const ownersOnly = "/owners"

// keptAs is the key under which an object is kept. keep is false where it is not.
func (r *Replayer) keptAs(k Key) (key Key, keep bool) {
	if r.keeps(k.Group, k.Resource) {
		return k, true
	}
	for _, owner := range ownerResources {
		if k.Group == owner[0] && k.Resource == owner[1] {
			k.Resource += ownersOnly
			return k, true
		}
	}
	return Key{}, false
}

// unmark is the key of the object that is kept under a key.
func (r *Replayer) unmark(k Key) Key {
	k.Resource = strings.TrimSuffix(k.Resource, ownersOnly)
	return k
}

// keep takes a write into the history, if its object is kept.
func (r *Replayer) keep(k Key, v *version) {
	until := v.to
	if v.watched {
		until = r.seenUntil() // The watch is ahead of the log.
	} else {
		r.seen(v.to)
	}
	k, keep := r.keptAs(k)
	if !keep {
		r.history.proved(v.rv, v.to)
		return
	}
	if strings.HasSuffix(k.Resource, ownersOnly) {
		v = v.owners()
	}
	r.history.add(k, v)
	r.history.forget(k, until.Add(-horizon))
}

// keepSnapshot takes an object of the snapshot into the history, if it is kept.
func (r *Replayer) keepSnapshot(k Key, v *version) {
	k, keep := r.keptAs(k)
	if !keep {
		return
	}
	if strings.HasSuffix(k.Resource, ownersOnly) {
		v = v.owners()
	}
	r.history.list(k.Group, k.Resource)
	r.history.snapshot(k, v)
}

// owners returns a copy of a version that tells whose the object is, and no more.
func (v *version) owners() *version {
	out := *v
	if v.content == nil {
		return &out
	}
	metadata := map[string]any{}
	for _, field := range []string{"name", "namespace", "uid", "ownerReferences"} {
		if value, ok := metadataOf(v.content)[field]; ok {
			metadata[field] = value
		}
	}
	out.content, out.raw = map[string]any{"metadata": metadata}, nil
	return &out
}

// kept lists the objects of a resource in a namespace that are kept, all namespaces where it is "*".
func (r *Replayer) kept(of Key) []Key {
	as, keep := r.keptAs(of)
	if !keep {
		return nil
	}
	keys := r.history.names(as.Group, as.Resource, as.Namespace)
	for i := range keys {
		keys[i].Resource = of.Resource
	}
	return keys
}

// seen notes how far the log has come.
func (r *Replayer) seen(t time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.After(r.last) {
		r.last = t
	}
}

// seenUntil is how far the log has come.
func (r *Replayer) seenUntil() time.Time {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.last
}

// because replaces NoHistory, of which the request's own object is the subject, by what it is due to where that is the
// Replayer's own doing: Evicted or NotKept.
func (r *Replayer) because(d *Decoded, req *Request) {
	if req.Operation == Create && !req.OrCreate || req.Operation == Connect || d.Event.Verb == "deletecollection" {
		return
	}
	k := key(d.Event, req.View.resources, req.Name)
	reason := NotKept
	switch {
	case !r.keeps(k.Group, k.Resource):
	case r.history.wasEvicted(k):
		reason = Evicted
	case !r.history.begun(k.Group, k.Resource):
		return
	}
	for _, o := range []*Object{&req.Object, &req.OldObject} {
		if o.Because == NoHistory {
			o.Because = reason
		}
		o.Unknown = withReason(o.Unknown, reason)
	}
}

func withReason(unknown []Unknown, reason Reason) []Unknown {
	out := unknown
	for i, u := range unknown {
		if u.Because != NoHistory {
			continue
		}
		if len(out) > 0 && &out[0] == &unknown[0] {
			out = append([]Unknown(nil), unknown...)
		}
		out[i].Because = reason
	}
	return out
}

// restores says whether a restored history knows an object.
func (r *Replayer) restores(k Key) bool {
	as, keep := r.keptAs(k)
	return keep && r.history.restored(as)
}
