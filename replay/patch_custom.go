package replay

import "slices"

// complete prunes a custom object and fills in its defaults as its schema says.
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning
func complete(content, schema map[string]any) map[string]any {
	out, _ := completed(content, schema, true).(map[string]any)
	return out
}

// root says that the value is a whole object: it has a version, a kind and metadata whatever its schema says.
func completed(value any, schema map[string]any, root bool) any {
	switch v := value.(type) {
	case map[string]any:
		return completedObject(v, schema, root)
	case []any:
		items, _ := schema["items"].(map[string]any)
		if items == nil {
			return v
		}
		out := slices.Clone(v)
		for i, inner := range v {
			out[i] = completed(inner, items, items["x-kubernetes-embedded-resource"] == true)
		}
		return out
	}
	return value
}

func completedObject(object, schema map[string]any, root bool) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	additional, _ := schema["additionalProperties"].(map[string]any)
	keeps := schema["x-kubernetes-preserve-unknown-fields"] == true || schema["additionalProperties"] == true
	out := make(map[string]any, len(object))
	for field, value := range object {
		property, known := properties[field].(map[string]any)
		switch {
		case root && (field == "metadata" || field == "apiVersion" || field == "kind"):
			out[field] = value
		case known:
			out[field] = completed(value, property, property["x-kubernetes-embedded-resource"] == true)
		case additional != nil:
			out[field] = completed(value, additional, additional["x-kubernetes-embedded-resource"] == true)
		case keeps:
			out[field] = value
		}
	}
	for field, raw := range properties {
		property, _ := raw.(map[string]any)
		standard, has := property["default"]
		if value, there := out[field]; has && (!there || value == nil && property["nullable"] != true) {
			out[field] = completed(copied(standard), property, false)
		}
	}
	return out
}
