package replay

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/vapshadow/vapshadow/ingest"
)

// The apiserver notes at every audit level whether a webhook changed the object, and at level Request and above how.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#monitoring-admission-webhooks
const (
	mutationAnnotation = "mutation.webhook.admission.k8s.io/"
	patchAnnotation    = "patch.webhook.admission.k8s.io/"
)

// hidesMutations says whether a webhook changed the object and the log does not show how.
func hidesMutations(ev *ingest.Event) bool {
	for name, value := range ev.Annotations {
		call, ok := strings.CutPrefix(name, mutationAnnotation)
		var note struct{ Mutated bool }
		if !ok || json.Unmarshal([]byte(value), &note) == nil && !note.Mutated {
			continue
		}
		if _, shown := ev.Annotations[patchAnnotation+call]; !shown {
			return true
		}
	}
	return false
}

// webhookPatches are the JSON patches of the webhooks that changed the object, in their order. It fails where one of
// them cannot be read.
func webhookPatches(ev *ingest.Event) ([]json.RawMessage, bool) {
	type numbered struct {
		round, index int
		patch        json.RawMessage
	}
	var found []numbered
	for name, value := range ev.Annotations {
		call, ok := strings.CutPrefix(name, patchAnnotation)
		if !ok {
			continue
		}
		var note struct {
			Patch     json.RawMessage
			PatchType string
		}
		round, index, numbers := callNumbers(call)
		if json.Unmarshal([]byte(value), &note) != nil || note.PatchType != "JSONPatch" || !numbers {
			return nil, false
		}
		found = append(found, numbered{round, index, note.Patch})
	}
	slices.SortFunc(found, func(a, b numbered) int { return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.index, b.index)) })
	var out []json.RawMessage
	for _, n := range found {
		out = append(out, n.patch)
	}
	return out, true
}

// callNumbers reads "round_0_index_2".
func callNumbers(call string) (round, index int, ok bool) {
	parts := strings.Split(call, "_")
	if len(parts) != 4 || parts[0] != "round" || parts[2] != "index" {
		return 0, 0, false
	}
	round, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0, 0, false
	}
	index, err = strconv.Atoi(parts[3])
	return round, index, err == nil
}

// mutate does to an object what the log says that webhooks did to it. old is the object before the request.
func mutate(d *Decoded, req *Request, old, object Object, because Reason) Object {
	patches, ok := webhookPatches(d.Event)
	if len(patches) == 0 && ok || object.Level == Missing {
		return object
	}
	kind := patchable(req)
	if !ok || kind == nil {
		return missing(Mutated)
	}
	for _, patch := range patches {
		next, fits := applyJSONPatch(object, patch)
		if fits {
			next, fits = kind.decoded(object, next, because)
		}
		if !fits {
			return missing(Mutated)
		}
		object = next
	}
	return object
}
