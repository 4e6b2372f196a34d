package convert

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
)

const (
	priorityLevelKind = "PriorityLevelConfiguration"
	// zeroSharesAnnotation tells in v1beta3 a zero that is meant from one that is to be defaulted.
	zeroSharesAnnotation = flowcontrolv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey
	// undefaultedShares is the reason for a limited priority level whose shares the apiserver has yet to set.
	undefaultedShares = "nominalConcurrencyShares is not set"
)

var (
	priorityLevelV1      = flowcontrolv1.SchemeGroupVersion.WithKind(priorityLevelKind)
	priorityLevelV1beta3 = flowcontrolv1beta3.SchemeGroupVersion.WithKind(priorityLevelKind)
)

func (Converter) priorityLevelV1ToV1beta3(obj map[string]any) (map[string]any, string) {
	all, ok := annotations(obj)
	limited, shares, wellFormed := limitedShares(obj)
	switch {
	case !ok || !wellFormed:
		return nil, malformed
	case limited && shares == nil:
		return nil, undefaultedShares
	}
	out := withVersion(obj, priorityLevelV1beta3)
	if _, marked := all[zeroSharesAnnotation]; limited && *shares == 0 && !marked {
		all[zeroSharesAnnotation] = ""
		out["metadata"] = withAnnotations(obj, all)
	}
	return out, ""
}

func (Converter) priorityLevelV1beta3ToV1(obj map[string]any) (map[string]any, string) {
	all, ok := annotations(obj)
	limited, shares, wellFormed := limitedShares(obj)
	_, marked := all[zeroSharesAnnotation]
	switch {
	case !ok || !wellFormed:
		return nil, malformed
	case limited && (shares == nil || *shares == 0 && !marked):
		return nil, undefaultedShares
	}
	out := withVersion(obj, priorityLevelV1)
	if marked {
		delete(all, zeroSharesAnnotation)
		out["metadata"] = withAnnotations(obj, all)
	}
	return out, ""
}

// limitedShares tells whether there is a spec.limited, and its shares if they are set.
func limitedShares(obj map[string]any) (limited bool, shares *int64, ok bool) {
	spec, ok := obj["spec"].(map[string]any)
	if !ok {
		return false, nil, false
	}
	if spec["limited"] == nil {
		return false, nil, true
	}
	l, ok := spec["limited"].(map[string]any)
	if !ok {
		return false, nil, false
	}
	if l["nominalConcurrencyShares"] == nil {
		return true, nil, true
	}
	n, ok := l["nominalConcurrencyShares"].(int64)
	return true, &n, ok
}
