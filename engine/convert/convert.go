// Package convert turns an object into another served version of its kind, as kube-apiserver does before
// admission when matchPolicy Equivalent finds a policy's rules in that version.
//
// Objects are JSON-decoded: maps, slices, strings, bools, int64, float64 and nil. They are immutable here:
// a result shares the parts that the conversion leaves alone with the object it came from.
package convert

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrNoConversion says that an object cannot be had in another version exactly as the apiserver had it.
type ErrNoConversion struct {
	From, To schema.GroupVersionKind
	// Because says what stands in the way. It holds no content of the object.
	Because string
}

func (e ErrNoConversion) Error() string {
	return fmt.Sprintf("no exact conversion from %s %s to %s %s: %s",
		e.From.GroupVersion(), e.From.Kind, e.To.GroupVersion(), e.To.Kind, e.Because)
}

// The conversion strategies of a CustomResourceDefinition.
const (
	// StrategyNone changes apiVersion and nothing else.
	StrategyNone = "None"
	// StrategyWebhook asks a program of the cluster's, which a log cannot ask.
	StrategyWebhook = "Webhook"
)

// Converter converts as one apiserver does. The zero value is the newest known apiserver's converter.
type Converter struct {
	// Minor is the apiserver's minor version (36 for 1.36); 0 is the newest known.
	Minor int

	// Decoded says that the apiserver decoded the object from the version it is in: the object of a create,
	// an update or a patch of a resource itself, not an oldObject nor the object of a status update, which
	// come from storage. It matters where a version cannot tell all that the stored object may hold: the
	// order of a HorizontalPodAutoscaler's metrics is not known from autoscaling/v1, unless it was decoded
	// from there. Leave it false when in doubt.
	Decoded bool
}

// Convert converts as the newest known apiserver does an object of which only this version is known.
func Convert(obj map[string]any, to schema.GroupVersionKind, custom bool, strategy string) (map[string]any, error) {
	return Converter{}.Convert(obj, to, custom, strategy)
}

// Convert returns the object in the given version of its kind. For a custom resource, strategy is the
// conversion strategy of its definition. The error is an ErrNoConversion.
func (c Converter) Convert(obj map[string]any, to schema.GroupVersionKind, custom bool, strategy string) (map[string]any, error) {
	from, ok := kindOf(obj)
	switch {
	case !ok:
		return nil, ErrNoConversion{From: from, To: to, Because: "the object does not tell its apiVersion and kind"}
	case from == to:
		return obj, nil
	case from.Kind != to.Kind:
		return nil, ErrNoConversion{From: from, To: to, Because: "they are different kinds"}
	case custom:
		return convertCustom(obj, from, to, strategy)
	}
	if convert := conversions[pair{from, to}]; convert != nil {
		out, because := convert(c, obj)
		if because != "" {
			return nil, ErrNoConversion{From: from, To: to, Because: because}
		}
		return out, nil
	}
	if from.Group == to.Group && sameShape(from, to.Version) {
		return withVersion(obj, to), nil
	}
	return nil, ErrNoConversion{From: from, To: to, Because: "vapshadow knows no conversion between them"}
}

type pair struct{ from, to schema.GroupVersionKind }

// conversions are those that change more than apiVersion. Each gives the reason where it cannot.
var conversions = map[pair]func(c Converter, obj map[string]any) (out map[string]any, because string){
	{autoscalerV1, autoscalerV2}:            Converter.autoscalerV1ToV2,
	{autoscalerV2, autoscalerV1}:            Converter.autoscalerV2ToV1,
	{coreEvent, eventsEvent}:                Converter.coreEventToEventsEvent,
	{eventsEvent, coreEvent}:                Converter.eventsEventToCoreEvent,
	{priorityLevelV1, priorityLevelV1beta3}: Converter.priorityLevelV1ToV1beta3,
	{priorityLevelV1beta3, priorityLevelV1}: Converter.priorityLevelV1beta3ToV1,
}

func convertCustom(obj map[string]any, from, to schema.GroupVersionKind, strategy string) (map[string]any, error) {
	switch {
	case from.Group != to.Group:
		return nil, ErrNoConversion{From: from, To: to, Because: "they are of different groups"}
	case strategy != StrategyNone:
		return nil, ErrNoConversion{From: from, To: to, Because: fmt.Sprintf("the custom resource's conversion strategy is %q", strategy)}
	}
	return withVersion(obj, to), nil
}

// kindOf reads apiVersion and kind. It splits the first as the apiserver does, at most once.
func kindOf(obj map[string]any) (schema.GroupVersionKind, bool) {
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionKind{}, false
	}
	return gv.WithKind(kind), apiVersion != "" && kind != ""
}

// withVersion returns the object with another apiVersion. The rest is shared.
func withVersion(obj map[string]any, to schema.GroupVersionKind) map[string]any {
	out := maps.Clone(obj)
	out["apiVersion"] = to.GroupVersion().String()
	return out
}
