package replay

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// customResourceDefinition is the part of an apiextensions.k8s.io/v1 CustomResourceDefinition that tells what it serves.
type customResourceDefinition struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Group      string                  `json:"group"`
		Scope      string                  `json:"scope"`
		Names      customResourceNames     `json:"names"`
		Versions   []customResourceVersion `json:"versions"`
		Conversion struct {
			Strategy string `json:"strategy"`
		} `json:"conversion"`
	} `json:"spec"`
	Status struct {
		AcceptedNames customResourceNames `json:"acceptedNames"`
		Conditions    []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

type customResourceNames struct {
	Plural string `json:"plural"`
	Kind   string `json:"kind"`
}

type customResourceVersion struct {
	Name   string `json:"name"`
	Served bool   `json:"served"`
	Schema struct {
		OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
	} `json:"schema"`
	Subresources struct {
		Status map[string]any `json:"status"`
		Scale  map[string]any `json:"scale"`
	} `json:"subresources"`
}

// scaleKind is the kind of every scale subresource.
var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// WithCRD returns a copy that knows the resources of an apiextensions.k8s.io/v1 CustomResourceDefinition, and no longer
// those of an earlier state of it. A definition whose names the apiserver has not accepted serves nothing.
func (r *Resources) WithCRD(content map[string]any) (*Resources, error) {
	var crd customResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &crd); err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition: %w", err)
	}
	if err := crd.check(); err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %q: %w", crd.Metadata.Name, err)
	}
	out := r.WithoutCRD(crd.Metadata.Name)
	resources := crd.resources()
	if len(resources) == 0 {
		return out, nil
	}
	// What discovery told of the same resources gives way; what is built in does not, as the apiserver asks itself first.
	kept := slices.DeleteFunc(out.resourcesOf(crd.Spec.Group), func(old *resource) bool {
		return old.custom && old.crd == "" && old.Resource == resources[0].Resource
	})
	for _, res := range resources {
		if old := out.resource(res.GroupVersionResource); old == nil || old.custom && old.crd == "" {
			kept = append(kept, res)
		}
	}
	out = out.withGroup(crd.Spec.Group, kept)
	out.crds = maps.Clone(out.crds)
	out.crds[crd.Metadata.Name] = crd.Spec.Group
	return out, nil
}

// WithoutCRD returns a copy without the resources of the definition of this name, such as widgets.stable.example.com.
func (r *Resources) WithoutCRD(name string) *Resources {
	group, known := r.crds[name]
	if !known {
		return r
	}
	out := r.withGroup(group, slices.DeleteFunc(r.resourcesOf(group), func(res *resource) bool { return res.crd == name }))
	out.crds = maps.Clone(r.crds)
	delete(out.crds, name)
	return out
}

func (crd *customResourceDefinition) check() error {
	switch {
	case crd.APIVersion != "apiextensions.k8s.io/v1" || crd.Kind != "CustomResourceDefinition":
		return fmt.Errorf("it is a %s %s: want apiextensions.k8s.io/v1 CustomResourceDefinition", crd.APIVersion, crd.Kind)
	case crd.Metadata.Name == "":
		return errors.New("metadata.name is missing")
	case crd.Spec.Group == "":
		return errors.New("spec.group is missing")
	case crd.Spec.Names.Plural == "" || crd.Spec.Names.Kind == "":
		return errors.New("spec.names.plural or spec.names.kind is missing")
	case crd.Spec.Scope != "Namespaced" && crd.Spec.Scope != "Cluster":
		return fmt.Errorf("spec.scope is %q: want Namespaced or Cluster", crd.Spec.Scope)
	case len(crd.Spec.Versions) == 0:
		return errors.New("spec.versions is empty")
	}
	return nil
}

// resources are all versions, also those that are not served: the apiserver counts them among the equivalent ones.
func (crd *customResourceDefinition) resources() []*resource {
	names, accepted := crd.names()
	if !accepted {
		return nil
	}
	conversion := crd.Spec.Conversion.Strategy
	if conversion == "" {
		conversion = "None"
	}
	var resources []*resource
	for _, version := range crd.Spec.Versions {
		gv := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
		res := &resource{
			GroupVersionResource: gv.WithResource(names.Plural),
			kind:                 gv.WithKind(names.Kind),
			namespaced:           crd.Spec.Scope == "Namespaced",
			served:               version.Served,
			subresources:         map[string]schema.GroupVersionKind{},
			crd:                  crd.Metadata.Name,
			custom:               true,
			conversion:           conversion,
			schema:               version.Schema.OpenAPIV3Schema,
		}
		// An empty status, as people write it, is a status.
		if version.Subresources.Status != nil {
			res.subresources["status"] = res.kind
		}
		if scale := version.Subresources.Scale; scale != nil {
			res.subresources["scale"] = scaleKind
			res.scale = scalePaths{replicas: fieldPath(scale["specReplicasPath"]), status: fieldPath(scale["statusReplicasPath"]), selector: fieldPath(scale["labelSelectorPath"])}
		}
		resources = append(resources, res)
	}
	return resources
}

// names are the accepted ones, or those asked for where the status does not tell: in a manifest, or in the response to
// the definition's creation. It returns false where the status says that the names were not accepted.
func (crd *customResourceDefinition) names() (customResourceNames, bool) {
	if accepted := crd.Status.AcceptedNames; accepted.Plural != "" && accepted.Kind != "" {
		return accepted, true
	}
	for _, condition := range crd.Status.Conditions {
		if condition.Type == "NamesAccepted" && condition.Status == "False" {
			return customResourceNames{}, false
		}
	}
	return crd.Spec.Names, true
}
