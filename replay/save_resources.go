package replay

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// savedResources is what changed in the resources of the cluster: the groups that differ from the state before, the first
// from what the apiserver itself has.
type savedResources struct {
	From    time.Time         `json:"from,omitzero"`
	To      time.Time         `json:"to,omitzero"`
	Groups  []savedGroup      `json:"groups,omitempty"`
	Removed []string          `json:"removed,omitempty"`
	CRDs    map[string]string `json:"crds,omitempty"`
}

type savedGroup struct {
	Name      string          `json:"name"`
	Builtin   bool            `json:"builtin,omitempty"`
	Resources []savedResource `json:"resources"`
}

type savedResource struct {
	Version      string               `json:"version"`
	Resource     string               `json:"resource"`
	Kind         savedKind            `json:"kind"`
	Namespaced   bool                 `json:"namespaced,omitempty"`
	Served       bool                 `json:"served,omitempty"`
	Subresources map[string]savedKind `json:"subresources,omitempty"`
	CRD          string               `json:"crd,omitempty"`
	Custom       bool                 `json:"custom,omitempty"`
	Conversion   string               `json:"conversion,omitempty"`
	Replicas     []string             `json:"replicasPath,omitempty"`
	Status       []string             `json:"statusPath,omitempty"`
	Selector     []string             `json:"selectorPath,omitempty"`
	Schema       json.RawMessage      `json:"schema,omitempty"`
}

type savedKind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind,omitempty"`
}

// resources writes the state of the resources at the horizon, and the changes since.
func (s *saver) resources() {
	s.r.mu.RLock()
	defer s.r.mu.RUnlock()
	states := s.r.resources
	for len(states) > 1 && states[1].to.Before(s.before) {
		states = states[1:]
	}
	before := s.r.builtin
	for _, state := range states {
		s.line(savedLine{Resources: changedResources(before, state)})
		before = state.Resources
	}
}

func changedResources(before *Resources, now timedResources) *savedResources {
	out := &savedResources{From: now.from, To: now.to, CRDs: now.crds}
	for _, name := range slices.Sorted(maps.Keys(now.groups)) {
		if g := now.groups[name]; g != before.groups[name] {
			out.Groups = append(out.Groups, g.save(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.groups)) {
		if now.groups[name] == nil {
			out.Removed = append(out.Removed, name)
		}
	}
	return out
}

func (g *resourceGroup) save(name string) savedGroup {
	out := savedGroup{Name: name, Builtin: g.builtin}
	for _, res := range g.resources {
		r := savedResource{
			Version: res.Version, Resource: res.Resource, Kind: savedKind(res.kind), Namespaced: res.namespaced, Served: res.served,
			CRD: res.crd, Custom: res.custom, Conversion: res.conversion,
			Replicas: res.scale.replicas, Status: res.scale.status, Selector: res.scale.selector,
			Subresources: map[string]savedKind{},
		}
		for sub, kind := range res.subresources {
			r.Subresources[sub] = savedKind(kind)
		}
		if res.schema != nil {
			r.Schema = appendJSON(nil, res.schema)
		}
		out.Resources = append(out.Resources, r)
	}
	return out
}

// restore makes the resources again from the state before.
func (s *savedResources) restore(before *Resources) *Resources {
	out := &Resources{groups: maps.Clone(before.groups), crds: map[string]string{}}
	maps.Copy(out.crds, s.CRDs)
	for _, name := range s.Removed {
		delete(out.groups, name)
	}
	for _, g := range s.Groups {
		var resources []*resource
		for _, res := range g.Resources {
			resources = append(resources, res.restore(g.Name))
		}
		out.groups[g.Name] = newResourceGroup(resources, g.Builtin)
	}
	return out
}

func (r *savedResource) restore(group string) *resource {
	out := &resource{
		GroupVersionResource: schema.GroupVersionResource{Group: group, Version: r.Version, Resource: r.Resource},
		kind:                 schema.GroupVersionKind(r.Kind), namespaced: r.Namespaced, served: r.Served,
		subresources: map[string]schema.GroupVersionKind{},
		crd:          r.CRD, custom: r.Custom, conversion: r.Conversion,
		scale:  scalePaths{replicas: r.Replicas, status: r.Status, selector: r.Selector},
		schema: decodeBody(r.Schema),
	}
	for sub, kind := range r.Subresources {
		out.subresources[sub] = schema.GroupVersionKind(kind)
	}
	return out
}
