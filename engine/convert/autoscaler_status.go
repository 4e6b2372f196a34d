package convert

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

func metricStatusV1(in autoscalingv2.MetricStatus) autoscalingv1.MetricStatus {
	out := autoscalingv1.MetricStatus{Type: autoscalingv1.MetricSourceType(in.Type)}
	if m := in.Object; m != nil {
		out.Object = &autoscalingv1.ObjectMetricStatus{
			Target:       autoscalingv1.CrossVersionObjectReference(m.DescribedObject),
			MetricName:   m.Metric.Name,
			CurrentValue: orZero(m.Current.Value),
			Selector:     m.Metric.Selector,
			AverageValue: m.Current.AverageValue,
		}
	}
	if m := in.Pods; m != nil {
		out.Pods = &autoscalingv1.PodsMetricStatus{
			MetricName:          m.Metric.Name,
			CurrentAverageValue: orZero(m.Current.AverageValue),
			Selector:            m.Metric.Selector,
		}
	}
	if m := in.Resource; m != nil {
		out.Resource = &autoscalingv1.ResourceMetricStatus{
			Name:                      m.Name,
			CurrentAverageUtilization: m.Current.AverageUtilization,
			CurrentAverageValue:       orZero(m.Current.AverageValue),
		}
	}
	if m := in.ContainerResource; m != nil {
		out.ContainerResource = &autoscalingv1.ContainerResourceMetricStatus{
			Name:                      m.Name,
			Container:                 m.Container,
			CurrentAverageUtilization: m.Current.AverageUtilization,
			CurrentAverageValue:       orZero(m.Current.AverageValue),
		}
	}
	if m := in.External; m != nil {
		out.External = &autoscalingv1.ExternalMetricStatus{
			MetricName:          m.Metric.Name,
			MetricSelector:      m.Metric.Selector,
			CurrentValue:        orZero(m.Current.Value),
			CurrentAverageValue: m.Current.AverageValue,
		}
	}
	return out
}

func metricStatusV2(in autoscalingv1.MetricStatus) autoscalingv2.MetricStatus {
	out := autoscalingv2.MetricStatus{Type: autoscalingv2.MetricSourceType(in.Type)}
	if m := in.Object; m != nil {
		out.Object = &autoscalingv2.ObjectMetricStatus{
			DescribedObject: autoscalingv2.CrossVersionObjectReference(m.Target),
			Metric:          autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.Selector},
			Current:         autoscalingv2.MetricValueStatus{Value: &m.CurrentValue, AverageValue: m.AverageValue},
		}
	}
	if m := in.Pods; m != nil {
		out.Pods = &autoscalingv2.PodsMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.Selector},
			Current: autoscalingv2.MetricValueStatus{AverageValue: &m.CurrentAverageValue},
		}
	}
	if m := in.Resource; m != nil {
		out.Resource = &autoscalingv2.ResourceMetricStatus{
			Name:    m.Name,
			Current: autoscalingv2.MetricValueStatus{AverageValue: &m.CurrentAverageValue, AverageUtilization: m.CurrentAverageUtilization},
		}
	}
	if m := in.ContainerResource; m != nil {
		out.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{
			Name:      m.Name,
			Container: m.Container,
			Current:   autoscalingv2.MetricValueStatus{AverageValue: &m.CurrentAverageValue, AverageUtilization: m.CurrentAverageUtilization},
		}
	}
	if m := in.External; m != nil {
		out.External = &autoscalingv2.ExternalMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.MetricSelector},
			Current: autoscalingv2.MetricValueStatus{Value: &m.CurrentValue, AverageValue: m.CurrentAverageValue},
		}
	}
	return out
}

// hasZero tells whether a status has a zero that v1 has to write and v2 could leave out.
func hasZero(all []autoscalingv1.MetricStatus) bool {
	for _, m := range all {
		if m.Object != nil && m.Object.CurrentValue.IsZero() ||
			m.Pods != nil && m.Pods.CurrentAverageValue.IsZero() ||
			m.Resource != nil && m.Resource.CurrentAverageValue.IsZero() ||
			m.ContainerResource != nil && m.ContainerResource.CurrentAverageValue.IsZero() ||
			m.External != nil && m.External.CurrentValue.IsZero() {
			return true
		}
	}
	return false
}

func conditionV1(in autoscalingv2.HorizontalPodAutoscalerCondition) autoscalingv1.HorizontalPodAutoscalerCondition {
	return autoscalingv1.HorizontalPodAutoscalerCondition{
		Type:               autoscalingv1.HorizontalPodAutoscalerConditionType(in.Type),
		Status:             in.Status,
		LastTransitionTime: in.LastTransitionTime,
		Reason:             in.Reason,
		Message:            in.Message,
		ObservedGeneration: in.ObservedGeneration,
	}
}

func conditionsV2(in []autoscalingv1.HorizontalPodAutoscalerCondition) []autoscalingv2.HorizontalPodAutoscalerCondition {
	var out []autoscalingv2.HorizontalPodAutoscalerCondition
	for _, c := range in {
		out = append(out, autoscalingv2.HorizontalPodAutoscalerCondition{
			Type:               autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type),
			Status:             c.Status,
			LastTransitionTime: c.LastTransitionTime,
			Reason:             c.Reason,
			Message:            c.Message,
			ObservedGeneration: c.ObservedGeneration,
		})
	}
	return out
}
