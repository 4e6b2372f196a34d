package replay

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// apply is a server-side apply of a configuration by a manager. It sets what the configuration has, and takes away what
// the manager had applied before and left out now: managedFields tell what that may be.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/
func (k *patchedKind) apply(old Object, config map[string]any, manager, subresource string, because Reason) (Object, bool) {
	if manager == "" {
		return Object{}, false
	}
	a := applying{because: because}
	content, _ := a.merge(nil, k.node(), old.Content, config).(map[string]any)
	out := old
	out.Unknown = append(stillUnknown(old.Unknown, config, true), a.unknown...)
	fields, tracked := metadataOf(old.Content)["managedFields"].([]any)
	switch {
	case !tracked && len(old.Content) > 0:
		a.unknown = nil
		a.beside(nil, old.Content, config)
		out.Unknown = append(out.Unknown, a.unknown...)
	default:
		a.unknown = nil
		for _, entry := range fields {
			if set := appliedBy(entry, manager, subresource); set != nil {
				a.dropped(nil, set, config, old.Content)
			}
		}
		out.Unknown = append(out.Unknown, a.unknown...)
		content = withMetadata(content, map[string]any{"managedFields": retracked(fields, manager, subresource, config)})
	}
	if annotations, _ := metadataOf(old.Content)["annotations"].(map[string]any); annotations[lastApplied] != nil {
		out.Unknown = append(out.Unknown, Unknown{Path: []string{"metadata", "annotations", lastApplied}, Because: because})
	}
	out.Content = content
	return out, true
}

// lastApplied is the annotation that client-side apply keeps its configuration in. Server-side apply keeps it up to date.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// node is what is known of the type of a part of an object: a built-in's Go type, or a custom resource's schema.
type node struct {
	of     reflect.Type
	field  goField
	schema map[string]any
	custom bool
}

func (k *patchedKind) node() node { return node{of: k.goStruct, schema: k.schema, custom: k.custom()} }

// child is the type of a field; of an element where name is EachElement.
func (n node) child(name string) node {
	if n.custom {
		if name == EachElement {
			items, _ := n.schema["items"].(map[string]any)
			return node{schema: items, custom: true}
		}
		if n.schema["x-kubernetes-embedded-resource"] == true {
			return node{custom: true}
		}
		return node{schema: propertyOf(n.schema, name), custom: true}
	}
	if n.of == nil || name == EachElement {
		return n
	}
	field := fieldsOf(n.of)[name]
	inner, _, ok := structOf(field.ofOrNil())
	if !ok {
		return node{field: field}
	}
	return node{of: inner, field: field}
}

// atomicStructs are replaced as a whole.
var atomicStructs = []reflect.Type{
	reflect.TypeFor[metav1.LabelSelector](), reflect.TypeFor[corev1.ConfigMapKeySelector](), reflect.TypeFor[corev1.SecretKeySelector](),
	reflect.TypeFor[corev1.ObjectFieldSelector](), reflect.TypeFor[corev1.ResourceFieldSelector](), reflect.TypeFor[corev1.LocalObjectReference](),
	reflect.TypeFor[corev1.ObjectReference](), reflect.TypeFor[corev1.TypedLocalObjectReference](), reflect.TypeFor[corev1.NodeSelector](),
	reflect.TypeFor[corev1.NodeSelectorTerm](), reflect.TypeFor[corev1.SecretReference](), reflect.TypeFor[rbacv1.RoleRef](),
	reflect.TypeFor[metav1.OwnerReference](),
}

// atomic says whether a map is replaced as a whole. path is where it is.
func (n node) atomic(path []string) bool {
	if n.custom {
		return n.schema["x-kubernetes-map-type"] == "atomic"
	}
	last := path[len(path)-1]
	return slices.Contains(atomicStructs, n.of) || n.of == nil && (last == "nodeSelector" || last == "selector")
}

type applying struct {
	because Reason
	unknown []Unknown
}

func (a *applying) hide(path []string) {
	a.unknown = append(a.unknown, Unknown{Path: slices.Clone(path), Because: a.because})
}

// merge sets what a configuration has.
func (a *applying) merge(path []string, n node, old, config any) any {
	switch v := config.(type) {
	case map[string]any:
		was, ok := old.(map[string]any)
		if !ok || len(path) > 0 && n.atomic(path) {
			return config
		}
		out := shallow(was)
		for _, field := range slices.Sorted(maps.Keys(v)) {
			out[field] = a.merge(append(slices.Clone(path), field), n.child(field), was[field], v[field])
		}
		return out
	case []any:
		was, _ := old.([]any)
		if len(was) == 0 || reflect.DeepEqual(was, v) {
			return config
		}
		return a.mergeList(path, n, was, v)
	}
	return config
}

// mergeList merges lists whose elements have the same keys in the same order. Of others, that are not replaced as a
// whole, it is not known what comes of them.
func (a *applying) mergeList(path []string, n node, old, config []any) any {
	keys, associative := n.listKeys()
	if !associative {
		return config
	}
	if len(keys) == 0 || len(old) != len(config) {
		a.hide(path)
		return config
	}
	out := make([]any, len(old))
	for i := range old {
		was, isMap := old[i].(map[string]any)
		now, alsoMap := config[i].(map[string]any)
		if !isMap || !alsoMap || slices.ContainsFunc(keys, func(key string) bool { return !reflect.DeepEqual(was[key], now[key]) }) {
			a.hide(path)
			return config
		}
		out[i] = a.merge(append(slices.Clone(path), EachElement), n.child(EachElement), was, now)
	}
	return out
}

// listKeys are the fields that tell the elements of a list apart; none for a set. A list that is not associative is
// replaced as a whole.
func (n node) listKeys() (keys []string, associative bool) {
	if n.custom {
		switch n.schema["x-kubernetes-list-type"] {
		case "map":
			list, _ := n.schema["x-kubernetes-list-map-keys"].([]any)
			for _, key := range list {
				if name, ok := key.(string); ok {
					keys = append(keys, name)
				}
			}
			return keys, true
		case "set":
			return nil, true
		}
		return nil, false
	}
	if n.field.mergeKey != "" {
		return []string{n.field.mergeKey}, true
	}
	return nil, n.field.merges
}

// ownMetadata is the metadata that no manager owns.
var ownMetadata = []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName", "selfLink"}

// beside leaves open all that an object has and a configuration does not: whether the manager had applied it is not
// known.
func (a *applying) beside(path []string, old, config map[string]any) {
	for _, field := range slices.Sorted(maps.Keys(old)) {
		value := old[field]
		at := append(slices.Clone(path), field)
		if len(path) == 0 && (field == "apiVersion" || field == "kind") || len(path) == 1 && path[0] == "metadata" && slices.Contains(ownMetadata, field) {
			continue
		}
		now, there := config[field]
		if !there {
			a.hide(at)
			continue
		}
		inner, isMap := value.(map[string]any)
		other, alsoMap := now.(map[string]any)
		switch {
		case isMap && alsoMap:
			a.beside(at, inner, other)
		case !reflect.DeepEqual(value, now) && !isScalar(value):
			a.hide(at)
		}
	}
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// dropped leaves open what a manager had applied before and a configuration leaves out. set is in the form of
// FieldsV1, or less: a list may stand for all that is in it.
func (a *applying) dropped(path []string, set map[string]any, config, old any) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		inner, _ := set[name].(map[string]any)
		kind, rest, _ := strings.Cut(name, ":")
		switch kind {
		case "f":
			a.droppedField(append(slices.Clone(path), rest), rest, inner, config, old)
		case "k":
			var key map[string]any
			list, _ := config.([]any)
			now := map[string]any(nil)
			if kjson.Unmarshal([]byte(rest), &key) == nil {
				now = elementLike(list, key)
			}
			if now == nil {
				a.hide(path)
				continue
			}
			a.dropped(append(slices.Clone(path), EachElement), inner, now, nil)
		case "v", "i":
			a.hideIfChanged(path, config, old)
		}
	}
}

func (a *applying) droppedField(path []string, field string, set map[string]any, config, old any) {
	object, _ := config.(map[string]any)
	was, _ := old.(map[string]any)
	now, there := object[field]
	switch {
	case len(path) == 2 && path[0] == "metadata" && slices.Contains(ownMetadata, field):
	case !there:
		a.hide(path)
	case len(set) == 0:
		if !isScalar(now) {
			a.hideIfChanged(path, now, was[field])
		}
	default:
		a.dropped(path, set, now, was[field])
	}
}

func (a *applying) hideIfChanged(path []string, config, old any) {
	if !reflect.DeepEqual(config, old) {
		a.hide(path)
	}
}

// elementLike is the object in a list that has the values of a key; nil if there is none.
func elementLike(list []any, key map[string]any) map[string]any {
	for _, raw := range list {
		element, ok := raw.(map[string]any)
		if !ok {
			continue
		}
		matches := len(key) > 0
		for field, value := range key {
			matches = matches && reflect.DeepEqual(element[field], value)
		}
		if matches {
			return element
		}
	}
	return nil
}

// appliedBy is the set of fields that a manager had applied, if an entry of managedFields is its; else nil.
func appliedBy(raw any, manager, subresource string) map[string]any {
	entry, _ := raw.(map[string]any)
	if entry["operation"] != "Apply" || entry["manager"] != manager || stringAt(entry, "subresource") != subresource {
		return nil
	}
	set, _ := entry["fieldsV1"].(map[string]any)
	return set
}

// retracked are the managedFields after an apply, as far as they are followed here: what each manager may have applied.
func retracked(fields []any, manager, subresource string, config map[string]any) []any {
	out := []any{}
	for _, entry := range fields {
		if appliedBy(entry, manager, subresource) == nil {
			out = append(out, entry)
		}
	}
	entry := map[string]any{"manager": manager, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fieldSet(config)}
	if subresource != "" {
		entry["subresource"] = subresource
	}
	return append(out, entry)
}

// fieldSet is the set of the fields that a configuration has, lists as a whole.
func fieldSet(config map[string]any) map[string]any {
	out := map[string]any{}
	for field, value := range config {
		set := map[string]any{}
		if inner, ok := value.(map[string]any); ok {
			set = fieldSet(inner)
		}
		if field != "apiVersion" && field != "kind" {
			out["f:"+field] = set
		}
	}
	return out
}
