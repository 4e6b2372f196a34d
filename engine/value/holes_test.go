package value_test

import (
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/vapshadow/vapshadow/engine/value"
)

// An expression over an object with holes is decided only where no filling of the holes could change it.
func TestWithHoles(t *testing.T) {
	env, err := environment.MustBaseEnvSet(version.MajorMinor(1, 37)).NewExpressionsEnv().Extend(cel.Variable("object", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]any{
		"metadata": map[string]any{"name": "p", "annotations": map[string]any{"a": "1"}},
		"spec": map[string]any{
			"containers": []any{
				map[string]any{"name": "c0", "image": "good", "volumeMounts": []any{}},
				map[string]any{"name": "c1", "image": "bad"},
			},
		},
	}
	holes := [][]string{{"object", "spec", "containers", "*", "volumeMounts"}, {"object", "spec", "volumes"}}
	for _, c := range []struct{ expression, want string }{
		{"object.metadata.name == 'p'", "true"},
		{"object.metadata.annotations == {'a': '1'}", "true"},
		{"object.spec.containers.size() == 2", "true"},
		{"object.spec.containers.all(c, c.image == 'good')", "false"},
		{"object.spec.containers.exists(c, c.name == 'c1' && c.image == 'bad')", "true"},
		{"object.spec.containers[0].image == 'good'", "true"},
		{"object.spec.containers.map(c, c.image) == ['good', 'bad']", "true"},
		{"has(object.spec.containers)", "true"},
		{"'containers' in object.spec", "true"},
		{"object.spec.containers == []", "false"},
		{"has(object.spec.volumes) || object.metadata.name == 'p'", "true"},
		{"has(object.spec.volumes)", "unknown"},
		{"object.?spec.volumes.hasValue()", "unknown"},
		{"object.spec.volumes.size() == 0", "unknown"},
		{"'volumes' in object.spec", "unknown"},
		{"object.spec.containers.all(c, !has(c.volumeMounts))", "unknown"},
		{"object.spec.containers.exists(c, has(c.volumeMounts) && c.volumeMounts.size() > 0)", "unknown"},
		{"object.spec.containers[0] == {'name': 'c0', 'image': 'good'}", "unknown"},
		{"{'name': 'c0', 'image': 'good'} == object.spec.containers[0]", "unknown"},
		{"{'name': 'c0', 'image': 'good'} in object.spec.containers", "unknown"},
		{"object.spec == object.spec", "unknown"},
		{"object.spec.all(k, k != 'volumes')", "unknown"},
		{"object.spec.exists(k, k == 'containers')", "true"},
		{"size(object.spec) == 1", "unknown"},
		{"size(object.spec.containers[1]) == 2", "unknown"},
		{"'%s'.format([object.spec]) == ''", "unknown"},
		{"object.spec.map(k, k).size() == 1", "unknown"},
		{"(object.spec.containers + object.spec.containers).exists(c, has(c.volumeMounts))", "unknown"},
		{"type(object.spec) == map", "true"},
		{"optional.ofNonZeroValue(object.spec).hasValue()", "true"},
	} {
		t.Run(c.expression, func(t *testing.T) {
			ast, issues := env.Compile(c.expression)
			if issues != nil {
				t.Fatal(issues)
			}
			program, err := env.Program(ast)
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := program.Eval(map[string]any{"object": value.WithHoles(value.OfJSON(content), holes)})
			got := "unknown"
			if err == nil && !types.IsUnknown(out) {
				got = map[bool]string{true: "true", false: "false"}[out == types.True]
			}
			if got != c.want {
				t.Errorf("got %s (%v, %v), want %s", got, out, err, c.want)
			}
		})
	}
}
