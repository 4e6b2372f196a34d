package value_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/cel-go/common/types/ref"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/vapshadow/vapshadow/engine/value"
)

// benchmarkPod is a pod of some containers and labels, as a cluster has many.
func benchmarkPod() *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "web-7d9c", Namespace: "shop", UID: "0d5c", Labels: map[string]string{}, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{ServiceAccountName: "web", NodeName: "node-1"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for i := range 12 {
		pod.Labels[fmt.Sprint("app.kubernetes.io/label-", i)] = fmt.Sprint("value-", i)
		pod.Annotations[fmt.Sprint("example.com/annotation-", i)] = fmt.Sprint("value-", i)
	}
	for i := range 5 {
		no := false
		resources := corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("c", i), Image: "registry.example.com/web:v1", Args: []string{"serve", "--port=80"},
			Ports:           []corev1.ContainerPort{{Name: "http", ContainerPort: 80, Protocol: corev1.ProtocolTCP}},
			Env:             []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "C", Value: "3"}},
			Resources:       corev1.ResourceRequirements{Limits: resources, Requests: resources.DeepCopy()},
			VolumeMounts:    []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			SecurityContext: &corev1.SecurityContext{Privileged: &no, AllowPrivilegeEscalation: &no},
		})
	}
	return pod
}

var benchmarks = []struct{ name, source string }{
	{"deep", "object.spec.containers[4].resources.limits.memory == '1Gi'"},
	{"has", "has(object.spec.securityContext) && has(object.spec.securityContext.runAsNonRoot)"},
	{"containers", "object.spec.containers.all(c, c.image.startsWith('registry.example.com/') && !c.securityContext.privileged)"},
	{"limits", "object.spec.containers.all(c, has(c.resources.limits) && ['cpu', 'memory'].all(r, r in c.resources.limits))"},
	{"labels", "object.metadata.labels.all(k, object.metadata.labels[k].size() < 64)"},
	{"labels2", "object.metadata.labels.all(k, v, v.size() < 64)"},
	{"nested", "object.metadata.labels.all(k, object.metadata.annotations.all(a, a != k))"},
	{"keys", "object.spec.all(k, k != 'hostPath')"},
	{"equal", "object == oldObject"},
	{"equalSpec", "object.spec == oldObject.spec"},
	{"equalLabels", "object.metadata.labels == oldObject.metadata.labels"},
	{"literal", "object.spec.containers[0].volumeMounts == [{'name': 'data', 'mountPath': '/data'}]"},
}

// BenchmarkViews makes the views of an object and its old self anew for each evaluation, by vapshadow and by the
// apiserver.
func BenchmarkViews(b *testing.B) {
	object, old := benchmarkPod(), benchmarkPod()
	var content, oldContent map[string]any
	for into, pod := range map[*map[string]any]*corev1.Pod{&content: object, &oldContent: old} {
		data, err := json.Marshal(pod)
		if err != nil {
			b.Fatal(err)
		}
		if err := json.Unmarshal(data, into); err != nil {
			b.Fatal(err)
		}
	}
	structs := func(of func(any) ref.Val) func() map[string]any {
		return func() map[string]any { return map[string]any{"object": of(object), "oldObject": of(old)} }
	}
	jsons := func(of func(map[string]any) ref.Val) func() map[string]any {
		return func() map[string]any { return map[string]any{"object": of(content), "oldObject": of(oldContent)} }
	}
	for _, bench := range benchmarks {
		for _, by := range []struct {
			name string
			make func() map[string]any
		}{
			{"struct/vapshadow", structs(value.OfStruct)}, {"struct/apiserver", structs(common.SchemalessTypedToVal)},
			{"json/vapshadow", jsons(value.OfJSON)}, {"json/apiserver", jsons(theirJSON)},
		} {
			b.Run(bench.name+"/"+by.name, func(b *testing.B) {
				program := compiled(bench.source)
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := program.Eval(by.make()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
