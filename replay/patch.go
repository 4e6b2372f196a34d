package replay

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/vapshadow/vapshadow/ingest"
)

// The audit log shows the body of a PATCH as it was sent, and neither its type nor, at level Request, what came of it.
// What came of it is made again here, from the object that it found.

// patchType is how the body of a PATCH is to be read: its Content-Type, which no audit event shows.
type patchType string

const (
	jsonPatch      patchType = "json-patch"
	mergePatch     patchType = "merge-patch"
	strategicPatch patchType = "strategic-merge-patch"
	applyPatch     patchType = "apply-patch"
)

// patchTypes are the types that a PATCH may have been of.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply
func patchTypes(d *Decoded, custom bool) []patchType {
	body := d.request
	switch raw := bytes.TrimSpace(d.Event.RequestObject); {
	case len(raw) > 0 && raw[0] == '[':
		return []patchType{jsonPatch}
	case body == nil || absent(d.Event, ingest.AbsentQuery):
		return nil
	}
	query := queryOf(d.Event)
	// Only apply makes objects, and only apply knows force. It demands a manager, a version and a kind.
	if query.Has("force") || d.Operation == Create {
		return []patchType{applyPatch}
	}
	types := []patchType{mergePatch}
	if !custom {
		types = append(types, strategicPatch)
		if directs(body) {
			types = []patchType{strategicPatch}
		}
	}
	if query.Get("fieldManager") != "" && stringAt(body, "apiVersion") != "" && stringAt(body, "kind") != "" && !directs(body) {
		types = append(types, applyPatch)
	}
	return types
}

// directs says whether a patch has directives, which only strategic merge patches know.
func directs(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for field, inner := range v {
			if strings.HasPrefix(field, "$") || directs(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, directs)
	}
	return false
}

// patch makes of an object what a patch of a type makes of it. It fails where the patch does not fit the object: then
// the object was not what it is taken for, or the patch is of another type.
func (k *patchedKind) patch(as patchType, d *Decoded, old Object, because Reason) (Object, bool) {
	out := old
	switch as {
	case jsonPatch:
		return applyJSONPatch(old, d.Event.RequestObject)
	case mergePatch:
		out.Content, out.Unknown = merge(old.Content, d.request), stillUnknown(old.Unknown, d.request, false)
		return out, true
	case strategicPatch:
		merged, err := strategicpatch.StrategicMergeMapPatch(copied(old.Content).(map[string]any), copied(d.request).(map[string]any), k.example())
		if err != nil {
			return Object{}, false
		}
		out.Content, out.Unknown = merged, stillUnknown(old.Unknown, d.request, true)
		return out, true
	default:
		return k.apply(old, d.request, queryOf(d.Event).Get("fieldManager"), d.Event.ObjectRef.Subresource, because)
	}
}

// merge is a JSON merge patch. What does not change is shared.
// https://www.rfc-editor.org/rfc/rfc7396
func merge(old, patch map[string]any) map[string]any {
	out := shallow(old)
	for field, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(out, field)
		case map[string]any:
			inner, _ := out[field].(map[string]any)
			out[field] = merge(inner, v)
		default:
			out[field] = value
		}
	}
	return out
}

// stillUnknown are the parts of an object that are not known after a merge: those that it does not write as a whole.
// Lists may be merged too.
func stillUnknown(unknown []Unknown, patch map[string]any, mergesLists bool) []Unknown {
	var out []Unknown
	for _, u := range unknown {
		if !writes(patch, u.Path, mergesLists) {
			out = append(out, u)
		}
	}
	return out
}

func writes(patch map[string]any, path []string, mergesLists bool) bool {
	if len(path) == 0 {
		return false
	}
	value, ok := patch[path[0]]
	if !ok {
		return false
	}
	switch v := value.(type) {
	case nil:
		return false // Taken away; what fills it in again is not known either.
	case map[string]any:
		return writes(v, path[1:], mergesLists)
	case []any:
		return !mergesLists
	}
	return true
}

func queryOf(ev *ingest.Event) url.Values {
	_, raw := path(ev.RequestURI)
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil
	}
	return query
}

// eitherOf is an object that is one of several: what they have in common is known, the rest is not.
func eitherOf(objects []Object, because Reason) Object {
	out := objects[0]
	out.Unknown = slices.Clone(out.Unknown)
	for _, other := range objects[1:] {
		out.Unknown = append(out.Unknown, other.Unknown...)
		for _, path := range differences(nil, out.Content, other.Content) {
			out.Unknown = append(out.Unknown, elementwise(path, out.Content, other.Content, because)...)
		}
	}
	return out
}

// elementwise are the parts in which two objects differ at a path. Of lists of as many objects each, these are the parts
// of their elements.
func elementwise(path []string, a, b map[string]any, because Reason) []Unknown {
	whole := []Unknown{{Path: path, Because: because}}
	x, isList := fieldAt(a, path).([]any)
	y, alsoList := fieldAt(b, path).([]any)
	if !isList || !alsoList || len(x) != len(y) || len(x) == 0 {
		return whole
	}
	var out []Unknown
	for i := range x {
		p, isMap := x[i].(map[string]any)
		q, alsoMap := y[i].(map[string]any)
		if !isMap || !alsoMap {
			return whole
		}
		for _, inner := range differences(nil, p, q) {
			out = append(out, Unknown{Path: slices.Concat(path, []string{EachElement}, inner), Because: because})
		}
	}
	return out
}

// copied is a deep copy of a decoded JSON value.
func copied(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for field, inner := range v {
			out[field] = copied(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = copied(inner)
		}
		return out
	}
	return value
}

// covers says whether a path is one of those that are not known, or lies within one.
func covers(unknown []Unknown, path ...string) bool {
	return slices.ContainsFunc(unknown, func(u Unknown) bool { return matchesPath(u.Path, path) })
}

// matchesPath says whether path is at or below prefix. EachElement in either stands for any element.
func matchesPath(prefix, path []string) bool {
	if len(prefix) > len(path) {
		return false
	}
	for i, field := range prefix {
		if field != path[i] && field != EachElement && path[i] != EachElement {
			return false
		}
	}
	return true
}

// distinct drops what is said twice of an object's unknown parts.
func distinct(unknown []Unknown) []Unknown {
	var out []Unknown
	for _, u := range unknown {
		if !slices.ContainsFunc(out, func(o Unknown) bool { return slices.Equal(o.Path, u.Path) }) {
			out = append(out, u)
		}
	}
	return out
}
