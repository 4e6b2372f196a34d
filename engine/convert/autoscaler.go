package convert

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

var (
	autoscalerV1 = autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	autoscalerV2 = autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
)

// defaultCPUUtilization, in percent, is what an autoscaling/v1 autoscaler without any metric means.
const defaultCPUUtilization = 80

const (
	// unknownOrder: v1 holds the CPU target in a field and the other metrics in an annotation, so it does not
	// tell where among the others the CPU metric was. Decoding puts it last.
	unknownOrder = "autoscaling/v1 does not tell the order of the metrics"
	// unknownZero: a v1 metric status has a value where v2 may have none.
	unknownZero = "autoscaling/v1 does not tell whether a current metric has no value or a value of zero"
)

// autoscalerV2ToV1 keeps what v1 has no field for in annotations. Nothing is lost but the order of metrics.
func (c Converter) autoscalerV2ToV1(obj map[string]any) (map[string]any, string) {
	var in autoscalingv2.HorizontalPodAutoscaler
	all, ok := annotations(obj)
	if !ok || !decode(obj, &in) {
		return nil, malformed
	}
	c.dropRoundTrip(all)
	if !c.saveRoundTrip(all, &in) {
		return nil, malformed
	}
	out := &autoscalingv1.HorizontalPodAutoscaler{
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
			MinReplicas:    in.Spec.MinReplicas,
			MaxReplicas:    in.Spec.MaxReplicas,
		},
		Status: autoscalingv1.HorizontalPodAutoscalerStatus{
			ObservedGeneration: in.Status.ObservedGeneration,
			LastScaleTime:      in.Status.LastScaleTime,
			CurrentReplicas:    in.Status.CurrentReplicas,
			DesiredReplicas:    in.Status.DesiredReplicas,
		},
	}
	for _, m := range in.Spec.Metrics { // the first
		if isCPUUtilization(m) {
			out.Spec.TargetCPUUtilizationPercentage = m.Resource.Target.AverageUtilization
			break
		}
	}
	for _, m := range in.Status.CurrentMetrics { // the last
		if m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil &&
			m.Resource.Name == corev1.ResourceCPU && m.Resource.Current.AverageUtilization != nil {
			out.Status.CurrentCPUUtilizationPercentage = m.Resource.Current.AverageUtilization
		}
	}
	out.SetGroupVersionKind(autoscalerV1)
	return encode(out, withAnnotations(obj, all))
}

// autoscalerV1ToV2 takes metrics, behavior and conditions out of the annotations. It supposes what validation
// and the controllers make so: that a target's type goes with the value that is set, that a metric target of
// zero is none, and that CPU utilization is not asked for twice.
func (c Converter) autoscalerV1ToV2(obj map[string]any) (map[string]any, string) {
	var in autoscalingv1.HorizontalPodAutoscaler
	all, ok := annotations(obj)
	if !ok || !decode(obj, &in) {
		return nil, malformed
	}
	saved := c.readRoundTrip(all)
	c.dropRoundTrip(all)
	if in.Spec.TargetCPUUtilizationPercentage != nil && len(saved.metrics) > 0 && !c.Decoded {
		return nil, unknownOrder
	}
	if hasZero(saved.currentMetrics) {
		return nil, unknownZero
	}
	out := &autoscalingv2.HorizontalPodAutoscaler{
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
			MinReplicas:    in.Spec.MinReplicas,
			MaxReplicas:    in.Spec.MaxReplicas,
			Metrics:        metricsV2(saved.metrics, in.Spec.TargetCPUUtilizationPercentage),
			Behavior:       saved.behavior,
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			ObservedGeneration: in.Status.ObservedGeneration,
			LastScaleTime:      in.Status.LastScaleTime,
			CurrentReplicas:    in.Status.CurrentReplicas,
			DesiredReplicas:    in.Status.DesiredReplicas,
			CurrentMetrics:     currentMetricsV2(saved, in.Status.CurrentCPUUtilizationPercentage),
			Conditions:         conditionsV2(saved.conditions),
		},
	}
	out.SetGroupVersionKind(autoscalerV2)
	return encode(out, withAnnotations(obj, all))
}

// metricsV2 puts the CPU target after the other metrics. Without any, v1 means 80 % of CPU.
func metricsV2(others []autoscalingv1.MetricSpec, cpu *int32) []autoscalingv2.MetricSpec {
	out := make([]autoscalingv2.MetricSpec, 0, len(others)+1)
	for _, m := range others {
		out = append(out, metricSpecV2(m))
	}
	if cpu == nil && len(out) == 0 {
		utilization := int32(defaultCPUUtilization)
		cpu = &utilization
	}
	if cpu != nil {
		out = append(out, autoscalingv2.MetricSpec{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: cpu},
			},
		})
	}
	return out
}

// currentMetricsV2 prefers the annotation, which holds more than the field.
func currentMetricsV2(saved roundTrip, cpu *int32) []autoscalingv2.MetricStatus {
	if saved.currentMetrics == nil && cpu != nil {
		return []autoscalingv2.MetricStatus{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name:    corev1.ResourceCPU,
				Current: autoscalingv2.MetricValueStatus{AverageUtilization: cpu},
			},
		}}
	}
	var out []autoscalingv2.MetricStatus
	for _, m := range saved.currentMetrics {
		out = append(out, metricStatusV2(m))
	}
	return out
}

func isCPUUtilization(m autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil &&
		m.Resource.Name == corev1.ResourceCPU && m.Resource.Target.AverageUtilization != nil
}
