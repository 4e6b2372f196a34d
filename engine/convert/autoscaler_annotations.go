package convert

import (
	"encoding/json"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The annotations that carry what autoscaling/v1 has no field for.
const (
	metricsAnnotation            = "autoscaling.alpha.kubernetes.io/metrics"
	currentMetricsAnnotation     = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation         = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation           = "autoscaling.alpha.kubernetes.io/behavior"
	scaleDownToleranceAnnotation = "autoscaling.alpha.kubernetes.io/scale-down-tolerance"
	scaleUpToleranceAnnotation   = "autoscaling.alpha.kubernetes.io/scale-up-tolerance"
)

// toleranceMinor is the first minor version whose scaling rules have a tolerance.
const toleranceMinor = 33

func (c Converter) hasTolerance() bool { return c.Minor == 0 || c.Minor >= toleranceMinor }

// roundTrip is what the annotations of a v1 autoscaler hold.
type roundTrip struct {
	metrics        []autoscalingv1.MetricSpec
	currentMetrics []autoscalingv1.MetricStatus
	conditions     []autoscalingv1.HorizontalPodAutoscalerCondition
	behavior       *autoscalingv2.HorizontalPodAutoscalerBehavior
}

// readRoundTrip passes over an annotation that does not parse, as the apiserver does.
func (c Converter) readRoundTrip(all map[string]string) (saved roundTrip) {
	var b behavior
	read(all, metricsAnnotation, &saved.metrics)
	read(all, currentMetricsAnnotation, &saved.currentMetrics)
	read(all, conditionsAnnotation, &saved.conditions)
	if read(all, behaviorAnnotation, &b) && b != (behavior{}) {
		saved.behavior = b.v2(c.hasTolerance())
	}
	return saved
}

// read parses an annotation; into stays as it is where there is none that parses.
func read[T any](all map[string]string, key string, into *T) bool {
	value, ok := all[key]
	if !ok {
		return false
	}
	var parsed T
	if json.Unmarshal([]byte(value), &parsed) != nil {
		return false
	}
	*into = parsed
	return true
}

// saveRoundTrip writes the annotations; false if a value cannot be written.
func (c Converter) saveRoundTrip(all map[string]string, in *autoscalingv2.HorizontalPodAutoscaler) bool {
	var metrics []autoscalingv1.MetricSpec
	for _, m := range in.Spec.Metrics {
		if !isCPUUtilization(m) {
			metrics = append(metrics, metricSpecV1(m))
		}
	}
	var currentMetrics []autoscalingv1.MetricStatus
	for _, m := range in.Status.CurrentMetrics {
		currentMetrics = append(currentMetrics, metricStatusV1(m))
	}
	var conditions []autoscalingv1.HorizontalPodAutoscalerCondition
	for _, condition := range in.Status.Conditions {
		conditions = append(conditions, conditionV1(condition))
	}
	ok := save(all, metricsAnnotation, metrics, len(metrics) > 0) &&
		save(all, currentMetricsAnnotation, currentMetrics, len(currentMetrics) > 0) &&
		save(all, conditionsAnnotation, conditions, len(conditions) > 0)
	if b := in.Spec.Behavior; ok && b != nil {
		ok = save(all, behaviorAnnotation, behaviorOf(b, c.hasTolerance()), true)
	}
	return ok
}

func save(all map[string]string, key string, value any, present bool) bool {
	if !present {
		return true
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return false
	}
	all[key] = string(encoded)
	return true
}

// dropRoundTrip takes the annotations off: only a conversion sets them.
func (c Converter) dropRoundTrip(all map[string]string) {
	delete(all, metricsAnnotation)
	delete(all, currentMetricsAnnotation)
	delete(all, conditionsAnnotation)
	delete(all, behaviorAnnotation)
	if c.hasTolerance() {
		delete(all, scaleDownToleranceAnnotation)
		delete(all, scaleUpToleranceAnnotation)
	}
}

// behavior is the behavior as the annotation spells it: with Go's field names, nulls and all, as the apiserver
// writes its internal type there.
type behavior struct {
	ScaleUp, ScaleDown *scalingRules
}

type scalingRules struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *autoscalingv2.ScalingPolicySelect
	Policies                   []scalingPolicy
	Tolerance                  tolerance `json:",omitzero"`
}

type scalingPolicy struct {
	Type                 autoscalingv2.HPAScalingPolicyType
	Value, PeriodSeconds int32
}

// tolerance is null where it is not set, and no field at all where the apiserver knows none.
type tolerance struct {
	value *resource.Quantity
	known bool
}

func (t tolerance) MarshalJSON() ([]byte, error) { return json.Marshal(t.value) }

func (t *tolerance) UnmarshalJSON(b []byte) error {
	t.known = true
	return json.Unmarshal(b, &t.value)
}

func behaviorOf(in *autoscalingv2.HorizontalPodAutoscalerBehavior, withTolerance bool) behavior {
	return behavior{
		ScaleUp:   scalingRulesOf(in.ScaleUp, withTolerance),
		ScaleDown: scalingRulesOf(in.ScaleDown, withTolerance),
	}
}

func scalingRulesOf(in *autoscalingv2.HPAScalingRules, withTolerance bool) *scalingRules {
	if in == nil {
		return nil
	}
	out := &scalingRules{StabilizationWindowSeconds: in.StabilizationWindowSeconds, SelectPolicy: in.SelectPolicy}
	if withTolerance {
		out.Tolerance = tolerance{value: in.Tolerance, known: true}
	}
	if in.Policies != nil {
		out.Policies = make([]scalingPolicy, len(in.Policies))
	}
	for i, p := range in.Policies {
		out.Policies[i] = scalingPolicy{Type: p.Type, Value: p.Value, PeriodSeconds: p.PeriodSeconds}
	}
	return out
}

func (b behavior) v2(withTolerance bool) *autoscalingv2.HorizontalPodAutoscalerBehavior {
	return &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleUp:   b.ScaleUp.v2(withTolerance),
		ScaleDown: b.ScaleDown.v2(withTolerance),
	}
}

func (r *scalingRules) v2(withTolerance bool) *autoscalingv2.HPAScalingRules {
	if r == nil {
		return nil
	}
	out := &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: r.StabilizationWindowSeconds,
		SelectPolicy:               r.SelectPolicy,
	}
	if withTolerance {
		out.Tolerance = r.Tolerance.value
	}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, autoscalingv2.HPAScalingPolicy{Type: p.Type, Value: p.Value, PeriodSeconds: p.PeriodSeconds})
	}
	return out
}
