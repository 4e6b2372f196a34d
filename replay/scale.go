package replay

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// scalePaths are the fields of an object that its scale subresource stands for. selector is empty where there is none.
type scalePaths struct {
	replicas, status, selector []string
}

// builtinScale is where Deployments, ReplicaSets, StatefulSets and ReplicationControllers have their replicas.
var builtinScale = scalePaths{replicas: []string{"spec", "replicas"}, status: []string{"status", "replicas"}, selector: []string{"spec", "selector"}}

// fieldPath reads a JSONPath of a CRD, such as ".spec.replicas".
func fieldPath(raw any) []string {
	path, _ := raw.(string)
	if path == "" {
		return nil
	}
	return strings.Split(strings.TrimPrefix(path, "."), ".")
}

// scale returns the fields that a resource's scale subresource stands for.
func (r *Resources) scale(gvr schema.GroupVersionResource) (scalePaths, bool) {
	if gvr.Group == "apps" || gvr.Group == "" {
		return builtinScale, true
	}
	res := r.resource(gvr)
	if res == nil || len(res.scale.replicas) == 0 {
		return scalePaths{}, false
	}
	return res.scale, true
}

// scaled is a write of the scale subresource: the response shows the number of replicas and no more of the object.
func scaled(d *Decoded, resources *Resources) *version {
	metadata := metadataOf(d.response)
	v := &version{uid: stringAt(metadata, "uid"), rv: revision(d.response)}
	paths, ok := resources.scale(gvrOf(d.Event.ObjectRef))
	spec, isScale := d.response["spec"].(map[string]any)
	if !ok || !isScale {
		return v
	}
	replicas := int64Of(spec["replicas"])
	v.derive = derived(func(before map[string]any) map[string]any {
		changes := map[string]any{"resourceVersion": stringAt(metadata, "resourceVersion")}
		if generation, ok := metadataOf(before)["generation"].(int64); ok && int64Of(fieldAt(before, paths.replicas)) != replicas {
			changes["generation"] = generation + 1
		}
		return withField(withMetadata(before, changes), paths.replicas, replicas)
	}, Unknown{Path: []string{"metadata", "managedFields"}, Because: NotStored})
	return v
}

// oldScale is the Scale that a write of the scale subresource found, made from the state of the object itself.
func oldScale(response map[string]any, parent Object, req *Request) Object {
	paths, ok := req.View.resources.scale(req.Resource)
	if parent.Level == Missing || parent.Content == nil || !ok {
		return missing(NoHistory)
	}
	var unknown []Unknown
	for _, u := range parent.Unknown {
		if u.String() != "metadata.managedFields" {
			unknown = append(unknown, Unknown{Because: u.Because})
		}
	}
	if len(unknown) > 0 {
		return missing(unknown[0].Because)
	}
	spec := map[string]any{}
	if replicas := int64Of(fieldAt(parent.Content, paths.replicas)); replicas != 0 {
		spec["replicas"] = replicas
	}
	status := map[string]any{"replicas": int64Of(fieldAt(parent.Content, paths.status))}
	if selector := selectorAt(parent.Content, paths.selector); selector != "" {
		status["selector"] = selector
	}
	content := withMetadata(response, map[string]any{"resourceVersion": metadataOf(parent.Content)["resourceVersion"]})
	content["spec"], content["status"] = spec, status
	return Object{Evidence: parent.Evidence, Content: content}
}

// selectorAt reads a selector as a Scale shows it: a LabelSelector written out, or the string that a custom resource
// keeps.
func selectorAt(content map[string]any, path []string) string {
	switch v := fieldAt(content, path).(type) {
	case string:
		return v
	case map[string]any:
		var selector metav1.LabelSelector
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v, &selector); err != nil {
			return ""
		}
		parsed, err := metav1.LabelSelectorAsSelector(&selector)
		if err != nil {
			return ""
		}
		return parsed.String()
	}
	return ""
}

func int64Of(v any) int64 {
	n, _ := v.(int64)
	return n
}

func fieldAt(content map[string]any, path []string) any {
	var at any = content
	for _, field := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[field]
	}
	return at
}

// withField returns the object with one field changed; the original stays as it is.
func withField(content map[string]any, path []string, value any) map[string]any {
	out := shallow(content)
	if len(path) == 1 {
		out[path[0]] = value
		return out
	}
	inner, _ := content[path[0]].(map[string]any)
	out[path[0]] = withField(inner, path[1:], value)
	return out
}
