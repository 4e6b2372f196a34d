package convert_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/vapshadow/vapshadow/engine/convert"
)

// conversion is a line of testdata/*.jsonl.
type conversion struct {
	Name     string         `json:"name"`
	Minor    int            `json:"minor"`
	Decoded  bool           `json:"decoded"`
	Custom   bool           `json:"custom"`
	Strategy string         `json:"strategy"`
	From     map[string]any `json:"from"`
	To       map[string]any `json:"to"`
	Because  string         `json:"because"`
}

func (c conversion) convert() (map[string]any, error) {
	converter := convert.Converter{Minor: c.Minor, Decoded: c.Decoded}
	return converter.Convert(c.From, kindOf(c.To), c.Custom, c.Strategy)
}

func kindOf(obj map[string]any) schema.GroupVersionKind {
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

func readConversions(t testing.TB, name string) []conversion {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []conversion
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, len(content)+1)
	for lines.Scan() {
		var c conversion
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		t.Fatalf("%s holds no conversions", name)
	}
	return all
}

func TestConvert(t *testing.T) {
	for _, name := range []string{"recorded.jsonl"} {
		for _, c := range readConversions(t, name) {
			t.Run(kindOf(c.From).GroupVersion().String()+" to "+kindOf(c.To).GroupVersion().String()+"/"+c.Name, func(t *testing.T) {
				before := runtime.DeepCopyJSON(c.From)
				got, err := c.convert()
				if diff := cmp.Diff(before, c.From); diff != "" {
					t.Errorf("the input was changed (-before +after):\n%s", diff)
				}
				if c.Because != "" {
					wantRefusal(t, err, convert.ErrNoConversion{From: kindOf(c.From), To: kindOf(c.To), Because: c.Because})
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.To, got); diff != "" {
					t.Errorf("not as the apiserver has it (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func wantRefusal(t *testing.T, err error, want convert.ErrNoConversion) {
	t.Helper()
	var got convert.ErrNoConversion
	if !errors.As(err, &got) {
		t.Fatalf("error %v is no ErrNoConversion", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestConvertToItsOwnVersionReturnsTheObject(t *testing.T) {
	obj := map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": int64(3)}}
	got, err := convert.Convert(obj, kindOf(obj), false, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(obj, got); diff != "" {
		t.Error(diff)
	}
}

func TestConvertRefuses(t *testing.T) {
	gvk := func(apiVersion, kind string) schema.GroupVersionKind {
		return schema.FromAPIVersionAndKind(apiVersion, kind)
	}
	const malformed = "the object is not as its type has it"
	tests := []struct {
		name     string
		obj      string
		to       schema.GroupVersionKind
		custom   bool
		strategy string
		because  string
	}{
		{name: "no apiVersion", obj: `{"kind":"Widget"}`, to: gvk("x.io/v1", "Widget"), custom: true, strategy: "None",
			because: "the object does not tell its apiVersion and kind"},
		{name: "another kind", obj: `{"apiVersion":"x.io/v1","kind":"Widget"}`, to: gvk("x.io/v2", "Gadget"), custom: true, strategy: "None",
			because: "they are different kinds"},
		{name: "another group", obj: `{"apiVersion":"x.io/v1","kind":"Widget"}`, to: gvk("y.io/v1", "Widget"), custom: true, strategy: "None",
			because: "they are of different groups"},
		{name: "a webhook", obj: `{"apiVersion":"x.io/v1","kind":"Widget"}`, to: gvk("x.io/v2", "Widget"), custom: true, strategy: "Webhook",
			because: `the custom resource's conversion strategy is "Webhook"`},
		{name: "an unknown strategy", obj: `{"apiVersion":"x.io/v1","kind":"Widget"}`, to: gvk("x.io/v2", "Widget"), custom: true,
			because: `the custom resource's conversion strategy is ""`},
		{name: "resource.k8s.io/v1beta1", obj: `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim"}`, to: gvk("resource.k8s.io/v1beta1", "ResourceClaim"),
			because: "vapshadow knows no conversion between them"},
		{name: "a field of a later version", obj: `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","spec":{"shiny":1}}`, to: gvk("autoscaling/v1", "HorizontalPodAutoscaler"),
			because: malformed},
		{name: "a spec that is none", obj: `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","spec":"x"}`, to: gvk("autoscaling/v2", "HorizontalPodAutoscaler"),
			because: malformed},
		{name: "annotations that are none", obj: `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"annotations":[]}}`, to: gvk("autoscaling/v2", "HorizontalPodAutoscaler"),
			because: malformed},
		{name: "a current metric of zero", to: gvk("autoscaling/v2", "HorizontalPodAutoscaler"),
			obj: `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"annotations":{` +
				`"autoscaling.alpha.kubernetes.io/current-metrics":"[{\"type\":\"External\",\"external\":{\"metricName\":\"m\",\"currentValue\":\"0\",\"currentAverageValue\":\"7\"}}]"}}}`,
			because: "autoscaling/v1 does not tell whether a current metric has no value or a value of zero"},
		{name: "shares to be defaulted", to: gvk("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration"),
			obj:     `{"apiVersion":"flowcontrol.apiserver.k8s.io/v1beta3","kind":"PriorityLevelConfiguration","spec":{"limited":{"nominalConcurrencyShares":0}}}`,
			because: "nominalConcurrencyShares is not set"},
		{name: "shares that are none", to: gvk("flowcontrol.apiserver.k8s.io/v1beta3", "PriorityLevelConfiguration"),
			obj:     `{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration","spec":{"limited":{"nominalConcurrencyShares":"3"}}}`,
			because: malformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var obj map[string]any
			if err := json.Unmarshal([]byte(test.obj), &obj); err != nil {
				t.Fatal(err)
			}
			got, err := convert.Convert(obj, test.to, test.custom, test.strategy)
			if got != nil {
				t.Errorf("got an object: %v", got)
			}
			from := kindOf(obj)
			wantRefusal(t, err, convert.ErrNoConversion{From: from, To: test.to, Because: test.because})
		})
	}
}

// The tolerance of scaling rules came with 1.33; before, the annotation of the behavior does not name it, and the
// annotations that carry it are anybody's.
func TestConvertBeforeTolerance(t *testing.T) {
	obj := map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
		"metadata": map[string]any{"annotations": map[string]any{"autoscaling.alpha.kubernetes.io/scale-up-tolerance": "mine"}},
		"spec": map[string]any{
			"maxReplicas": int64(1),
			"behavior":    map[string]any{"scaleUp": map[string]any{"selectPolicy": "Disabled"}},
		},
	}
	want := map[string]map[string]any{
		"1.32": {
			"autoscaling.alpha.kubernetes.io/scale-up-tolerance": "mine",
			"autoscaling.alpha.kubernetes.io/behavior":           `{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Disabled","Policies":null},"ScaleDown":null}`,
		},
		"1.33": {
			"autoscaling.alpha.kubernetes.io/behavior": `{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Disabled","Policies":null,"Tolerance":null},"ScaleDown":null}`,
		},
	}
	got := map[string]map[string]any{}
	for name, minor := range map[string]int{"1.32": 32, "1.33": 33} {
		out, err := convert.Converter{Minor: minor}.Convert(obj, schema.FromAPIVersionAndKind("autoscaling/v1", "HorizontalPodAutoscaler"), false, "")
		if err != nil {
			t.Fatal(err)
		}
		got[name], _ = out["metadata"].(map[string]any)["annotations"].(map[string]any)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}
