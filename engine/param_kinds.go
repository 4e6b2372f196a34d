package engine

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ParamKinds are the kinds that the policies take params of, each once, in order.
func (e *Engine) ParamKinds() []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, c := range e.policies {
		if kind := c.policy.Spec.ParamKind; kind != nil {
			gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
			if !slices.Contains(out, gvk) {
				out = append(out, gvk)
			}
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}
