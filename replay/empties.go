package replay

import "reflect"

// asSent undoes what storage does to empty values. A response shows the object after its way through storage, which
// keeps no difference between nothing and an empty list, map or byte string; admission saw what the client had sent.
func asSent(content map[string]any, d *Decoded) map[string]any {
	if d.Event.Verb == "patch" || !isObject(d.request) || d.request["kind"] != content["kind"] {
		return content
	}
	return mergeEmpty(content, d.request)
}

// mergeEmpty returns the object with the sent form of each value that is empty in both. What does not change is shared.
func mergeEmpty(stored, sent map[string]any) map[string]any {
	if sameMap(stored, sent) {
		return stored
	}
	out := stored
	for field, theirs := range sent {
		ours, ok := stored[field]
		if !ok {
			continue
		}
		merged := mergeEmptyValue(ours, theirs)
		if same(merged, ours) {
			continue
		}
		if sameMap(out, stored) {
			out = shallow(stored)
		}
		out[field] = merged
	}
	return out
}

func mergeEmptyValue(ours, theirs any) any {
	if empty(ours) && empty(theirs) {
		return theirs
	}
	switch stored := ours.(type) {
	case map[string]any:
		if sent, ok := theirs.(map[string]any); ok {
			return mergeEmpty(stored, sent)
		}
	case []any:
		sent, ok := theirs.([]any)
		if !ok || len(sent) != len(stored) {
			return ours
		}
		out := stored
		for i := range stored {
			if merged := mergeEmptyValue(stored[i], sent[i]); !same(merged, stored[i]) {
				if same(out, stored) {
					out = append([]any(nil), stored...)
				}
				out[i] = merged
			}
		}
		return out
	}
	return ours
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// same says whether two values are one and the same: maps and lists by identity, everything else by value.
func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && sameMap(x, y)
	case []any:
		y, ok := b.([]any)
		return ok && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func sameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
