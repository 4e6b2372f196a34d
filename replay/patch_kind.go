package replay

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// builtinStructs are the Go structs of the kinds of addedOnCreate, by apiVersion and kind.
var builtinStructs = map[string]reflect.Type{}

func init() {
	for version, examples := range map[string][]any{
		"v1": {
			corev1.Endpoints{}, //nolint:staticcheck // deprecated, but still written in every cluster
			corev1.ConfigMap{}, corev1.Event{}, corev1.Secret{}, corev1.ServiceAccount{}, corev1.Namespace{},
			corev1.Node{}, corev1.PersistentVolumeClaim{}, corev1.Service{}, corev1.Pod{},
		},
		"apps/v1":                      {appsv1.ControllerRevision{}, appsv1.DaemonSet{}, appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.StatefulSet{}},
		"autoscaling/v1":               {autoscalingv1.HorizontalPodAutoscaler{}},
		"autoscaling/v2":               {autoscalingv2.HorizontalPodAutoscaler{}},
		"batch/v1":                     {batchv1.CronJob{}, batchv1.Job{}},
		"coordination.k8s.io/v1":       {coordinationv1.Lease{}},
		"discovery.k8s.io/v1":          {discoveryv1.EndpointSlice{}},
		"networking.k8s.io/v1":         {networkingv1.IPAddress{}, networkingv1.Ingress{}, networkingv1.NetworkPolicy{}},
		"policy/v1":                    {policyv1.PodDisruptionBudget{}},
		"rbac.authorization.k8s.io/v1": {rbacv1.ClusterRole{}, rbacv1.Role{}, rbacv1.RoleBinding{}, rbacv1.ClusterRoleBinding{}},
	} {
		for _, example := range examples {
			t := reflect.TypeOf(example)
			builtinStructs[version+" "+t.Name()] = t
		}
	}
}

// patchedKind is what is known of a kind whose objects are patched: a built-in's Go struct, or a custom resource's
// schema.
type patchedKind struct {
	goStruct reflect.Type
	schema   map[string]any
	// name is its group and kind, as addedOnCreate has them.
	name             string
	apiVersion, kind string
}

// patchable tells how objects of a request's kind are patched; nil where that is not known.
func patchable(req *Request) *patchedKind {
	k := &patchedKind{name: req.Kind.Group + "/" + req.Kind.Kind, apiVersion: req.Kind.GroupVersion().String(), kind: req.Kind.Kind}
	if _, custom := req.View.resources.Custom(req.Resource); custom {
		k.schema = req.View.resources.resource(req.Resource).schema
		if k.schema == nil {
			return nil
		}
		return k
	}
	k.goStruct = builtinStructs[req.Kind.GroupVersion().String()+" "+req.Kind.Kind]
	if _, known := addedOnCreate[k.name]; !known || k.goStruct == nil {
		return nil
	}
	return k
}

func (k *patchedKind) custom() bool { return k.goStruct == nil }

// example is a pointer to a struct of the kind.
func (k *patchedKind) example() any { return reflect.New(k.goStruct).Interface() }

// decoded brings an object into the form in which the apiserver has it: what the kind does not know is dropped, and
// values are written its way. It fails where the object is not one of the kind. What is filled in by default, and the
// log may not show, is added to what is not known.
func (k *patchedKind) decoded(old, next Object, because Reason) (Object, bool) {
	if metadata, ok := next.Content["metadata"].(map[string]any); !ok || len(metadata) == 0 || next.Content["apiVersion"] != k.apiVersion || next.Content["kind"] != k.kind {
		return Object{}, false
	}
	if k.custom() {
		next.Content = complete(next.Content, k.schema)
		return next, true
	}
	into := k.example()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(next.Content, into); err != nil {
		return Object{}, false
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(into)
	if err != nil {
		return Object{}, false
	}
	walk := defaulting{because: because}
	walk.object(nil, k.goStruct, old.Content, content)
	later := newer{because: because}
	next.Content = later.keep(nil, k.goStruct, old.Content, next.Content, content)
	next.Unknown = slices.Concat(next.Unknown, walk.unknown, later.unknown)
	return next, true
}

// newer finds fields that the Go structs do not know: those of an apiserver that is newer, or what it would drop.
type newer struct {
	because Reason
	unknown []Unknown
	// storing: versions and kinds are kept as well.
	storing bool
}

// keep puts the fields of next that a struct does not know into out, which was decoded from it. What the object did not
// have before is not known.
func (w *newer) keep(path []string, of reflect.Type, old, next, out map[string]any) map[string]any {
	fields := fieldsOf(of)
	kept := out
	set := func(name string, value any) {
		if same(kept, out) {
			kept = shallow(out)
		}
		kept[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		value := next[name]
		at := append(slices.Clip(path), name)
		field, known := fields[name]
		if w.storing && (name == "apiVersion" || name == "kind") && out[name] == nil {
			set(name, value)
			continue
		}
		if !known {
			set(name, value)
			if was, had := old[name]; !had || !reflect.DeepEqual(was, value) {
				w.unknown = append(w.unknown, Unknown{Path: at, Because: w.because})
			}
			continue
		}
		inner, list, ok := structOf(field.of)
		if !ok || out[name] == nil {
			continue
		}
		if !list {
			now, _ := value.(map[string]any)
			into, _ := out[name].(map[string]any)
			was, _ := old[name].(map[string]any)
			if k := w.keep(at, inner, was, now, into); !same(k, into) {
				set(name, k)
			}
			continue
		}
		was, _ := old[name].([]any)
		now, _ := value.([]any)
		into, _ := out[name].([]any)
		if k := w.keepAll(append(at, EachElement), inner, was, now, into); !same(k, into) {
			set(name, k)
		}
	}
	return kept
}

func (w *newer) keepAll(path []string, of reflect.Type, old, next, out []any) []any {
	kept := out
	for i := range min(len(next), len(out)) {
		now, isMap := next[i].(map[string]any)
		into, alsoMap := out[i].(map[string]any)
		if !isMap || !alsoMap {
			continue
		}
		var was map[string]any
		if j := slices.IndexFunc(old, func(o any) bool { return reflect.DeepEqual(o, next[i]) }); j >= 0 {
			was = now
		} else if i < len(old) {
			was, _ = old[i].(map[string]any)
		}
		if k := w.keep(path, of, was, now, into); !same(k, into) {
			if same(kept, out) {
				kept = slices.Clone(out)
			}
			kept[i] = k
		}
	}
	return kept
}

// goField is a field of a Go struct by its JSON name.
type goField struct {
	of reflect.Type
	// merges: the list is merged by strategic merge patches, by mergeKey if it holds objects.
	merges   bool
	mergeKey string
}

var goFields sync.Map // of reflect.Type to map[string]goField

// fieldsOf are the fields of a struct, those of the structs in it that have no name of their own included.
func fieldsOf(t reflect.Type) map[string]goField {
	if known, ok := goFields.Load(t); ok {
		return known.(map[string]goField)
	}
	out := map[string]goField{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			maps.Copy(out, fieldsOf(pointedTo(f.Type)))
			continue
		}
		if name != "" && name != "-" {
			out[name] = goField{
				of:       f.Type,
				merges:   strings.Contains(f.Tag.Get("patchStrategy"), "merge"),
				mergeKey: f.Tag.Get("patchMergeKey"),
			}
		}
	}
	goFields.Store(t, out)
	return out
}

func pointedTo(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// structOf is the struct that a field holds, or of which it holds a list; ok is false for all else: scalars, maps, and
// structs that are written as scalars, such as quantities and times.
func structOf(t reflect.Type) (of reflect.Type, list, ok bool) {
	t = pointedTo(t)
	if t.Kind() == reflect.Slice {
		t, list = pointedTo(t.Elem()), true
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(marshaler) {
		return nil, list, false
	}
	return t, list, true
}

var marshaler = reflect.TypeFor[interface{ MarshalJSON() ([]byte, error) }]()
