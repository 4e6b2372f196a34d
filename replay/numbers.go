package replay

import "k8s.io/apimachinery/pkg/runtime/schema"

// otherNumbers returns a custom object with the whole numbers that its client may have sent as 2.0 in that form, which
// is a double to CEL; nil where there are none. JSON written by an apiserver shows 2 for both. Fields of type integer
// are left alone: clients send those as integers.
func (r *Resources) otherNumbers(gvr schema.GroupVersionResource, content map[string]any) map[string]any {
	res := r.resource(gvr)
	if res == nil || res.schema == nil || content == nil {
		return nil
	}
	out := content
	for field, value := range content {
		if field == "metadata" || field == "apiVersion" || field == "kind" {
			continue
		}
		if other, changed := asDoubles(value, propertyOf(res.schema, field)); changed {
			if same(out, content) {
				out = shallow(content)
			}
			out[field] = other
		}
	}
	if same(out, content) {
		return nil
	}
	return out
}

// propertyOf is the schema of a field; nil where the schema does not know it.
func propertyOf(of map[string]any, field string) map[string]any {
	properties, _ := of["properties"].(map[string]any)
	if property, ok := properties[field].(map[string]any); ok {
		return property
	}
	additional, _ := of["additionalProperties"].(map[string]any)
	return additional
}

// asDoubles makes doubles of the whole numbers in a value that its schema calls a number, or does not know.
func asDoubles(value any, by map[string]any) (any, bool) {
	switch v := value.(type) {
	case int64:
		if kind, _ := by["type"].(string); kind == "number" || kind == "" && by["x-kubernetes-int-or-string"] != true {
			return float64(v), true
		}
	case map[string]any:
		out := v
		for field, inner := range v {
			if other, changed := asDoubles(inner, propertyOf(by, field)); changed {
				if same(out, v) {
					out = shallow(v)
				}
				out[field] = other
			}
		}
		return out, !same(out, v)
	case []any:
		items, _ := by["items"].(map[string]any)
		out := v
		for i, inner := range v {
			if other, changed := asDoubles(inner, items); changed {
				if same(out, v) {
					out = append([]any(nil), v...)
				}
				out[i] = other
			}
		}
		return out, !same(out, v)
	}
	return value, false
}
