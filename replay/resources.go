package replay

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resources knows which kinds the resources of a cluster hold, which are namespaced, and which are equivalent. It never
// changes: its With methods return another, which shares all but what was changed.
type Resources struct {
	groups map[string]*resourceGroup
	// crds holds the group of each custom resource definition, by its name.
	crds map[string]string
}

// resourceGroup is an API group; nothing in it changes once it is made.
type resourceGroup struct {
	// resources are in the order in which the apiserver registers them.
	resources []*resource
	// builtin says that the apiserver itself has this group, so that what discovery adds to it is no custom resource.
	builtin    bool
	byResource map[schema.GroupVersionResource]*resource
	byKind     map[schema.GroupVersionKind]*resource
}

// resource is one resource of one version of a group. It is never changed.
type resource struct {
	schema.GroupVersionResource
	// kind is empty where discovery names subresources only.
	kind         schema.GroupVersionKind
	namespaced   bool
	served       bool
	subresources map[string]schema.GroupVersionKind
	// crd names the definition that made it; empty for built-in resources, and those known from discovery only.
	crd string
	// custom resources have a conversion strategy, unless they are known from discovery only.
	custom     bool
	conversion string
	// scale are the fields that a custom resource's scale subresource stands for.
	scale scalePaths
	// schema is a custom resource's OpenAPI schema; nil where there is none.
	schema map[string]any
}

func newResourceGroup(resources []*resource, builtin bool) *resourceGroup {
	g := &resourceGroup{
		resources:  resources,
		builtin:    builtin,
		byResource: make(map[schema.GroupVersionResource]*resource, len(resources)),
		byKind:     make(map[schema.GroupVersionKind]*resource, len(resources)),
	}
	for _, res := range resources {
		g.byResource[res.GroupVersionResource] = res
		if _, taken := g.byKind[res.kind]; !taken {
			g.byKind[res.kind] = res
		}
	}
	return g
}

// Kind returns the kind that admission sees for a resource, or for a subresource of it. The kind of pods/eviction is
// policy/v1 Eviction, that of pods/status is Pod.
func (r *Resources) Kind(gvr schema.GroupVersionResource, subresource string) (schema.GroupVersionKind, bool) {
	res := r.resource(gvr)
	if res == nil {
		return schema.GroupVersionKind{}, false
	}
	kind := res.kind
	if subresource != "" {
		kind = res.subresources[subresource]
	}
	return kind, kind.Kind != ""
}

// Resource returns the resource whose objects have this kind. Kinds of subresources, such as Scale, have none.
// The resource need not be served: see Served.
func (r *Resources) Resource(gvk schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced bool, ok bool) {
	g := r.groups[gvk.Group]
	if g == nil || gvk.Kind == "" {
		return gvr, false, false
	}
	res := g.byKind[gvk]
	if res == nil {
		return gvr, false, false
	}
	return res.GroupVersionResource, res.namespaced, true
}

// Namespaced says whether the objects of a resource live in namespaces.
func (r *Resources) Namespaced(gvr schema.GroupVersionResource) (namespaced, ok bool) {
	res := r.resource(gvr)
	if res == nil {
		return false, false
	}
	return res.namespaced, true
}

// Served says whether the cluster serves a resource: as discovery or the definition has it, or else by default.
func (r *Resources) Served(gvr schema.GroupVersionResource) bool {
	res := r.resource(gvr)
	return res != nil && res.served
}

// Custom says whether a resource is a custom one, and by which strategy its versions are converted: None or Webhook.
// The strategy is empty where only discovery tells of the resource.
func (r *Resources) Custom(gvr schema.GroupVersionResource) (conversionStrategy string, ok bool) {
	res := r.resource(gvr)
	if res == nil || !res.custom {
		return "", false
	}
	return res.conversion, true
}

// Equivalents returns the resources through which the apiserver can reach the same objects, itself among them, in the
// order in which it tries them for matchPolicy Equivalent: the other versions of the resource that have the
// subresource, and events of the core group for those of events.k8s.io. It is empty where the resource is not known.
//
// Of built-in resources only served versions count; the one asked for does, since somebody used it. Of custom
// resources all versions count, as in the apiserver.
func (r *Resources) Equivalents(gvr schema.GroupVersionResource, subresource string) []schema.GroupVersionResource {
	if r.resource(gvr) == nil {
		return nil
	}
	var equivalents []schema.GroupVersionResource
	for _, group := range sameStorage(gvr.GroupResource()) {
		g := r.groups[group]
		if g == nil {
			continue
		}
		for _, res := range g.resources {
			if res.Resource != gvr.Resource || !res.custom && !res.served && res.GroupVersionResource != gvr {
				continue
			}
			if _, has := res.subresources[subresource]; has || subresource == "" {
				equivalents = append(equivalents, res.GroupVersionResource)
			}
		}
	}
	return equivalents
}

// sameStorage returns the groups that store this resource in the same place, in the order of registration. Events are
// the last resource that lives in two groups.
func sameStorage(gr schema.GroupResource) []string {
	if gr.Resource == "events" && (gr.Group == "" || gr.Group == "events.k8s.io") {
		return []string{"", "events.k8s.io"}
	}
	return []string{gr.Group}
}

func (r *Resources) resource(gvr schema.GroupVersionResource) *resource {
	g := r.groups[gvr.Group]
	if g == nil {
		return nil
	}
	return g.byResource[gvr]
}

// withGroup returns a copy in which one group has these resources. A group without resources goes, unless built-in.
func (r *Resources) withGroup(name string, resources []*resource) *Resources {
	groups := maps.Clone(r.groups)
	builtin := groups[name] != nil && groups[name].builtin
	if len(resources) == 0 && !builtin {
		delete(groups, name)
	} else {
		groups[name] = newResourceGroup(resources, builtin)
	}
	return &Resources{groups: groups, crds: r.crds}
}

// resourcesOf returns a copy of the resources of a group, to be changed.
func (r *Resources) resourcesOf(group string) []*resource {
	if g := r.groups[group]; g != nil {
		return slices.Clone(g.resources)
	}
	return nil
}

// has says whether a resource is known to have a subresource.
func (r *Resources) has(gvr schema.GroupVersionResource, subresource string) bool {
	res := r.resource(gvr)
	if res == nil {
		return false
	}
	_, ok := res.subresources[subresource]
	return ok
}
