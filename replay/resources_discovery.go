package replay

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// apiGroupDiscoveryList is the part that is read of an apidiscovery.k8s.io/v2 or v2beta1 APIGroupDiscoveryList: what
// /api and /apis answer to a client that asks for aggregated discovery.
type apiGroupDiscoveryList struct {
	Items []apiGroupDiscovery `json:"items"`
}

type apiGroupDiscovery struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Versions []struct {
		Version   string                 `json:"version"`
		Freshness string                 `json:"freshness"`
		Resources []apiResourceDiscovery `json:"resources"`
	} `json:"versions"`
}

type apiResourceDiscovery struct {
	Resource     string        `json:"resource"`
	ResponseKind discoveryKind `json:"responseKind"`
	Scope        string        `json:"scope"`
	Subresources []struct {
		Subresource  string        `json:"subresource"`
		ResponseKind discoveryKind `json:"responseKind"`
	} `json:"subresources"`
}

type discoveryKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// in fills in what discovery leaves out: a kind without a version is of the resource's own group and version.
func (k discoveryKind) in(gv schema.GroupVersion) schema.GroupVersionKind {
	if k.Version == "" && k.Kind != "" {
		return gv.WithKind(k.Kind)
	}
	return schema.GroupVersionKind(k)
}

// apiResourceList is the part that is read of a v1 APIResourceList: what /api/v1 and /apis/GROUP/VERSION answer.
type apiResourceList struct {
	GroupVersion string `json:"groupVersion"`
	Resources    []struct {
		// Name is that of a resource or, with a slash, of a subresource.
		Name          string `json:"name"`
		Namespaced    bool   `json:"namespaced"`
		discoveryKind `json:",inline"`
	} `json:"resources"`
}

// WithDiscovery returns a copy that serves what a discovery document lists: an APIGroupDiscoveryList tells all versions
// of its groups, a v1 APIResourceList all resources of its group and version. Groups and versions that the document
// does not name stay as they are, and so do the resources of custom resource definitions, which know more.
func (r *Resources) WithDiscovery(content map[string]any) (*Resources, error) {
	kind, _ := content["kind"].(string)
	apiVersion, _ := content["apiVersion"].(string)
	var out *Resources
	var err error
	switch {
	case kind == "APIGroupDiscoveryList" && strings.HasPrefix(apiVersion, "apidiscovery.k8s.io/"):
		out, err = r.withGroupDiscovery(content)
	// Old apiservers leave the apiVersion of the core group's list out.
	case kind == "APIResourceList" && (apiVersion == "v1" || apiVersion == ""):
		out, err = r.withResourceList(content)
	default:
		return nil, fmt.Errorf("%q %q is no discovery document: want an apidiscovery.k8s.io/v2 APIGroupDiscoveryList, or a v1 "+
			"APIResourceList as `kubectl get --raw /apis/GROUP/VERSION` prints it", apiVersion, kind)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kind, err)
	}
	return out, nil
}

func (r *Resources) withGroupDiscovery(content map[string]any) (*Resources, error) {
	var list apiGroupDiscoveryList
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &list); err != nil {
		return nil, err
	}
	out := r
	for i, group := range list.Items {
		served, err := group.served()
		if err != nil {
			return nil, fmt.Errorf("items[%d]: group %q: %w", i, group.Metadata.Name, err)
		}
		for _, known := range out.resourcesOf(group.Metadata.Name) {
			served.add(known.Version)
		}
		for _, version := range group.Versions {
			// The aggregated apiserver behind this version did not answer: what it serves is not known.
			if version.Freshness == "Stale" {
				delete(served.resources, version.Version)
			}
		}
		out = out.withServed(group.Metadata.Name, served)
	}
	return out, nil
}

// servedVersions are versions of a group, each with all the resources that it serves.
type servedVersions struct {
	order     []string
	resources map[string][]*resource
}

func (s *servedVersions) add(version string, resources ...*resource) {
	if _, known := s.resources[version]; !known {
		s.order = append(s.order, version)
	}
	s.resources[version] = append(s.resources[version], resources...)
}

func (group *apiGroupDiscovery) served() (*servedVersions, error) {
	served := &servedVersions{resources: map[string][]*resource{}}
	for _, version := range group.Versions {
		if version.Version == "" {
			return nil, errors.New("a version has no name")
		}
		served.add(version.Version)
		for _, found := range version.Resources {
			res, err := found.resource(schema.GroupVersion{Group: group.Metadata.Name, Version: version.Version})
			if err != nil {
				return nil, fmt.Errorf("version %s: %w", version.Version, err)
			}
			served.add(version.Version, res)
		}
	}
	return served, nil
}

func (found *apiResourceDiscovery) resource(gv schema.GroupVersion) (*resource, error) {
	if found.Resource == "" {
		return nil, errors.New("a resource has no name")
	}
	res := &resource{
		GroupVersionResource: gv.WithResource(found.Resource),
		kind:                 found.ResponseKind.in(gv),
		namespaced:           found.Scope == "Namespaced",
		served:               true,
		subresources:         map[string]schema.GroupVersionKind{},
	}
	for _, sub := range found.Subresources {
		if sub.Subresource == "" {
			return nil, fmt.Errorf("resource %s: a subresource has no name", found.Resource)
		}
		res.subresources[sub.Subresource] = sub.ResponseKind.in(gv)
	}
	return res, nil
}

func (r *Resources) withResourceList(content map[string]any) (*Resources, error) {
	var list apiResourceList
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &list); err != nil {
		return nil, err
	}
	gv, err := schema.ParseGroupVersion(list.GroupVersion)
	if err != nil {
		return nil, err
	}
	if gv.Version == "" {
		return nil, errors.New("groupVersion is missing")
	}
	served := &servedVersions{resources: map[string][]*resource{}}
	served.add(gv.Version)
	byName := map[string]*resource{}
	for _, entry := range list.Resources {
		name, sub, isSub := strings.Cut(entry.Name, "/")
		if name == "" {
			return nil, errors.New("a resource has no name")
		}
		res := byName[name]
		if res == nil {
			res = &resource{
				GroupVersionResource: gv.WithResource(name),
				served:               true,
				namespaced:           entry.Namespaced,
				subresources:         map[string]schema.GroupVersionKind{},
			}
			byName[name] = res
			served.add(gv.Version, res)
		}
		if isSub {
			res.subresources[sub] = entry.in(gv)
		} else {
			res.kind = entry.in(gv)
		}
	}
	return r.withServed(gv.Group, served), nil
}

// withServed returns a copy in which these versions of a group serve these resources and no others. What is new to the
// group comes after what it knew, which keeps its place.
func (r *Resources) withServed(group string, served *servedVersions) *Resources {
	builtin := r.groups[group] != nil && r.groups[group].builtin
	found := map[schema.GroupVersionResource]*resource{}
	for _, resources := range served.resources {
		for _, res := range resources {
			res.custom = !builtin
			found[res.GroupVersionResource] = res
		}
	}
	var resources []*resource
	for _, old := range r.resourcesOf(group) {
		now, listed := found[old.GroupVersionResource]
		delete(found, old.GroupVersionResource)
		_, told := served.resources[old.Version]
		switch {
		case !told || old.crd != "":
			resources = append(resources, old)
		case listed:
			resources = append(resources, now)
		default:
			gone := *old
			gone.served = false
			resources = append(resources, &gone)
		}
	}
	for _, version := range served.order {
		for _, res := range served.resources[version] {
			if found[res.GroupVersionResource] == res {
				resources = append(resources, res)
			}
		}
	}
	return r.withGroup(group, resources)
}
