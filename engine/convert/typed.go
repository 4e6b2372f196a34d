package convert

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
)

// malformed is the reason for an object that its own type does not take, or that has fields which the type does
// not know: what the apiserver would have made of those is not known either.
const malformed = "the object is not as its type has it"

// decode reads an object into its Go type, all but metadata, which no conversion changes except for annotations.
func decode(obj map[string]any, into any) (ok bool) {
	if _, has := obj["metadata"]; has {
		obj = maps.Clone(obj)
		delete(obj, "metadata")
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj, into, true) == nil
}

// encode writes an object of a Go type as CEL sees it, with the given metadata.
func encode(typed any, metadata any) (map[string]any, string) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, malformed
	}
	if metadata != nil {
		out["metadata"] = metadata
	}
	return out, ""
}

// annotations returns a copy of an object's annotations, never nil; false if they are malformed.
func annotations(obj map[string]any) (map[string]string, bool) {
	out := map[string]string{}
	var all map[string]any
	switch metadata := obj["metadata"].(type) {
	case nil:
		return out, true
	case map[string]any:
		switch a := metadata["annotations"].(type) {
		case nil:
			return out, true
		case map[string]any:
			all = a
		default:
			return nil, false
		}
	default:
		return nil, false
	}
	for key, value := range all {
		s, ok := value.(string)
		if !ok && value != nil {
			return nil, false
		}
		out[key] = s
	}
	return out, true
}

// withAnnotations returns an object's metadata with other annotations; without any, where there are none, as Go
// leaves an empty map out. The rest is shared.
func withAnnotations(obj map[string]any, all map[string]string) any {
	metadata, _ := obj["metadata"].(map[string]any)
	if metadata == nil && len(all) == 0 {
		return obj["metadata"]
	}
	out := make(map[string]any, len(metadata)+1)
	maps.Copy(out, metadata)
	delete(out, "annotations")
	if len(all) > 0 {
		values := make(map[string]any, len(all))
		for key, value := range all {
			values[key] = value
		}
		out["annotations"] = values
	}
	return out
}
