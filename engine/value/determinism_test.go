package value_test

import (
	"fmt"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vapshadow/vapshadow/engine/value"
)

// wide is an object with maps of many keys.
func wide() (*corev1.Secret, map[string]any) {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "ns", UID: "u", Labels: map[string]string{}, ResourceVersion: "1", Generation: 1},
		Data:       map[string][]byte{}, StringData: map[string]string{}, Type: "t",
	}
	metadata := map[string]any{"name": "n", "namespace": "ns", "uid": "u", "labels": map[string]any{}, "resourceVersion": "1", "generation": int64(1)}
	data := map[string]any{}
	for i := range 30 {
		key, text := fmt.Sprintf("k%02d", i), fmt.Sprint("v", i)
		secret.Labels[key], secret.Data[key] = text, []byte(text)
		metadata["labels"].(map[string]any)[key], data[key] = text, map[string]any{"v": text}
	}
	return secret, map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "t", "metadata": metadata, "data": data}
}

// TestDeterminism repeats what the apiserver's own views give another result for each time.
func TestDeterminism(t *testing.T) {
	secret, content := wide()
	views := map[string]func() ref.Val{
		"struct": func() ref.Val { return value.OfStruct(secret) },
		"JSON":   func() ref.Val { return value.OfJSON(content) },
	}
	for _, source := range []string{
		"object.map(k, k)",
		"object.metadata.map(k, k).join(' ')",
		"object.metadata.labels.map(k, k).join(' ')",
		"object.metadata.labels.map(k, k)[0] + object.data.map(k, k)[0]",
		"object.metadata.labels.filter(k, k != 'k00')[0]",
		"object.metadata.labels.exists(k, k == 'k07')",
		"object.metadata.labels.transformList(k, v, v)",
		"object.metadata.labels.transformMapEntry(k, v, {'same': k})",
		"object.metadata.labels.all(k, object.metadata.labels[k].nosuch)",
		"object.data.map(k, k)",
		"object.data.transformList(k, v, k)",
		"object.data.transformMapEntry(k, v, {'same': k})",
		"object.all(k, object[k].all(l, l != 'namespace'))",
		"'%s'.format([object])",
		"{'a': 1}.transformMap(k, v, object.metadata.labels).transformMapEntry(k, v, {v: 1, v: 2})",
	} {
		if compiled(source) == nil {
			t.Errorf("%s does not compile.", source)
			continue
		}
		for name, view := range views {
			first := ordered(t, source, view())
			for range 100 {
				if next := ordered(t, source, view()); next != first {
					t.Errorf("%s of %s gives\n%s\nand\n%s", source, name, first, next)
					break
				}
			}
		}
	}
}

// ordered is the outcome of an expression, in the order in which it was put together.
func ordered(t *testing.T, source string, object ref.Val) string {
	t.Helper()
	out := evaluate(t, compiled(source), map[string]any{"object": object})
	return fmt.Sprint(out)
}

// TestOrder holds the walk over maps to the order of their keys.
func TestOrder(t *testing.T) {
	secret, content := wide()
	for name, object := range map[string]ref.Val{"struct": value.OfStruct(secret), "JSON": value.OfJSON(content)} {
		for _, source := range []string{
			"object.map(k, k).isSorted()", "object.metadata.map(k, k).isSorted()", "object.metadata.labels.map(k, k).isSorted()",
			"object.data.map(k, k).isSorted()", "object.metadata.labels.transformList(k, v, k).isSorted()", "object.transformList(k, v, k).isSorted()",
		} {
			if out, _, err := compiled(source).Eval(map[string]any{"object": object}); out != types.True {
				t.Errorf("%s of %s: %v, %v", source, name, out, err)
			}
		}
	}
}
