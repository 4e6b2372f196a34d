package convert

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	coreEvent   = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	eventsEvent = schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}
)

// coreEventToEventsEvent renames: the two versions hold the same, and events.k8s.io calls deprecated what only
// the older kind of client writes.
func (Converter) coreEventToEventsEvent(obj map[string]any) (map[string]any, string) {
	var in corev1.Event
	if !decode(obj, &in) {
		return nil, malformed
	}
	out := &eventsv1.Event{
		EventTime:                in.EventTime,
		ReportingController:      in.ReportingController,
		ReportingInstance:        in.ReportingInstance,
		Action:                   in.Action,
		Reason:                   in.Reason,
		Regarding:                in.InvolvedObject,
		Related:                  in.Related,
		Note:                     in.Message,
		Type:                     in.Type,
		DeprecatedSource:         in.Source,
		DeprecatedFirstTimestamp: in.FirstTimestamp,
		DeprecatedLastTimestamp:  in.LastTimestamp,
		DeprecatedCount:          in.Count,
	}
	if in.Series != nil {
		out.Series = &eventsv1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
	out.SetGroupVersionKind(eventsEvent)
	return encode(out, obj["metadata"])
}

func (Converter) eventsEventToCoreEvent(obj map[string]any) (map[string]any, string) {
	var in eventsv1.Event
	if !decode(obj, &in) {
		return nil, malformed
	}
	out := &corev1.Event{
		InvolvedObject:      in.Regarding,
		Reason:              in.Reason,
		Message:             in.Note,
		Source:              in.DeprecatedSource,
		FirstTimestamp:      in.DeprecatedFirstTimestamp,
		LastTimestamp:       in.DeprecatedLastTimestamp,
		Count:               in.DeprecatedCount,
		Type:                in.Type,
		EventTime:           in.EventTime,
		Action:              in.Action,
		Related:             in.Related,
		ReportingController: in.ReportingController,
		ReportingInstance:   in.ReportingInstance,
	}
	if in.Series != nil {
		out.Series = &corev1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
	out.SetGroupVersionKind(coreEvent)
	return encode(out, obj["metadata"])
}
