package value_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/cel/common"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/engine/value"
)

// jsonValue generates JSON as Kubernetes decodes it.
func jsonValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64Range(-1, 2).AsAny(),
		rapid.SampledFrom([]float64{0, 1, 1.5, 1e300}).AsAny(), rapid.SampledFrom([]string{"", "a", "b", "é"}).AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	list := rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(depth - 1) }), 0, 3)
	return rapid.OneOf(append(scalars, list.AsAny(), jsonObject(depth).AsAny(), jsonObject(depth).AsAny())...)
}

func jsonObject(depth int) *rapid.Generator[map[string]any] {
	value := rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(depth - 1) })
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), value, 0, 5)
}

// drawPath draws a path into a variable, most of which leads somewhere.
func drawPath(t *rapid.T, variable string, content any) string {
	path := variable
	for rapid.IntRange(0, 4).Draw(t, "deeper") > 0 {
		if rapid.IntRange(0, 19).Draw(t, "astray") == 0 {
			return path + rapid.SampledFrom([]string{".nosuch", "[0]", "[-1]", "[dyn(0.0)]", "[dyn(0u)]", "[true]", ".?nosuch"}).Draw(t, "step")
		}
		switch c := content.(type) {
		case map[string]any:
			if len(c) == 0 {
				return path
			}
			key := rapid.SampledFrom(slices.Sorted(maps.Keys(c))).Draw(t, "key")
			path, content = fmt.Sprintf("%s[%q]", path, key), c[key]
		case []any:
			if len(c) == 0 {
				return path
			}
			i := rapid.IntRange(0, len(c)-1).Draw(t, "index")
			path, content = fmt.Sprintf("%s[%d]", path, i), c[i]
		default:
			return path
		}
	}
	return path
}

// templates are expressions over two paths, P and Q.
var templates = strings.Split(strings.TrimSpace(`
P
P == Q
P != Q
P in Q
dyn(P) < dyn(Q)
P + Q
P[Q]
P[?Q]
size(P)
type(P) == type(Q)
string(P)
[P] == [Q]
{'a': P} == {'a': Q}
P in [Q]
P in {'a': Q}
'a' in P
has(P.a)
has(P.name)
P == null
P == {}
P == []
{} == P
[] == P
P.map(x, x)
P.map(x, P[x])
P.filter(x, x == 'a')
P.all(x, x != Q)
P.exists(x, x == Q)
P.exists_one(x, x == Q)
P.all(x, P[x] != Q)
P.all(x, y, y != Q)
P.exists(x, y, y == Q)
P.transformList(x, y, y)
P.transformMap(x, y, y)
P.transformMapEntry(x, y, {string(x): y})
P.transformMapEntry(x, y, {'same': y})
'%s'.format([P])
'%s %s'.format([P, Q])
P.join(',')
P.indexOf(Q)
P.lastIndexOf(Q)
P.includes(Q)
P.distinct()
P.reverse()
P.slice(0, 1)
P.isSorted()
P.min()
[P, Q].flatten()
P.sort()
(P + Q) == (Q + P)
(P + Q)[0]
sets.contains(P, [Q])
sets.equivalent(P, Q)
optional.ofNonZeroValue(P)
optional.of(P) == optional.of(Q)
P.?a.?b
cel.bind(x, P, x == Q ? x : P)
P == Q || Q == P
P.startsWith('a')
dyn(P) && dyn(Q)
`), "\n")

func drawExpression(t *rapid.T, object, old any) (string, cel.Program) {
	draw := func(label string) string {
		if rapid.Bool().Draw(t, label+"Old") {
			return drawPath(t, "oldObject", old)
		}
		return drawPath(t, "object", object)
	}
	template := rapid.SampledFrom(templates).Draw(t, "template")
	source := strings.NewReplacer("P", draw("P"), "Q", draw("Q")).Replace(template)
	return source, compiled(source)
}

func TestGeneratedJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object, old := jsonObject(4).Draw(t, "object"), jsonObject(4).Draw(t, "oldObject")
		if rapid.Bool().Draw(t, "same") {
			old = runtime.DeepCopyJSON(object)
		}
		variables := func(view func(map[string]any) ref.Val) map[string]any {
			return map[string]any{"object": view(object), "oldObject": view(old)}
		}
		ours, theirs := variables(value.OfJSON), variables(theirJSON)
		for range 5 {
			if source, program := drawExpression(t, object, old); program != nil {
				compare(t, source, program, ours, theirs)
			}
		}
	})
}

// kinds are what TestGeneratedStructs fills.
var kinds = typesOf(
	&corev1.Pod{}, &corev1.Namespace{}, &corev1.Service{}, &corev1.Secret{}, &corev1.ConfigMap{}, &corev1.Node{},
	&corev1.Event{}, &corev1.PersistentVolumeClaim{}, &corev1.ResourceQuota{}, &appsv1.Deployment{}, &appsv1.StatefulSet{},
	&appsv1.ControllerRevision{}, &autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.NetworkPolicy{}, &networkingv1.Ingress{},
	&batchv1.CronJob{}, &batchv1.Job{}, &rbacv1.ClusterRole{}, &policyv1.PodDisruptionBudget{}, &admissionv1.AdmissionRequest{},
)

func typesOf(objects ...any) []reflect.Type {
	var out []reflect.Type
	for _, o := range objects {
		out = append(out, reflect.TypeOf(o).Elem())
	}
	return out
}

func TestGeneratedStructs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		object, old := drawStruct(t, kind), drawOther(t, kind)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		variables := func(view func(any) ref.Val) map[string]any {
			return map[string]any{"object": view(object), "oldObject": view(old(object))}
		}
		ours, theirs := variables(value.OfStruct), variables(common.SchemalessTypedToVal)
		for range 10 {
			if source, program := drawExpression(t, content, content); program != nil {
				compare(t, source, program, ours, theirs)
			}
		}
	})
}
