package engine

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/vapshadow/vapshadow/engine/policy"
	"github.com/vapshadow/vapshadow/replay"
)

// unhashed are the fields of metadata that an apiserver makes. A hash of params leaves them out, so that the same params
// have the same hash in every cluster, and in the manifest that they were made from.
var unhashed = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion",
	"selfLink", "uid",
}

// manyParams bounds the hashes that are remembered.
const manyParams = 4096

// paramsHashes hashes each state of a params object once.
type paramsHashes struct {
	mu    sync.RWMutex
	known map[paramsState]paramsHash
}

// paramsState names a state of an object: by what the apiserver gave it where that is known, else by where it is held.
type paramsState struct {
	apiVersion, uid, resourceVersion string
	held                             uintptr
}

type paramsHash struct {
	hash string
	// content keeps what is named by where it is held from being replaced by another there.
	content map[string]any
}

// of is the hash of params; empty where there are none, or where a part of them is not known.
func (h *paramsHashes) of(params *replay.Object) string {
	if params == nil || params.Content == nil || params.Other != nil {
		return ""
	}
	identified := true
	for _, u := range params.Unknown {
		if len(u.Path) != 2 || u.Path[0] != "metadata" || !slices.Contains(unhashed, u.Path[1]) {
			return ""
		}
		identified = identified && u.Path[1] != "uid" && u.Path[1] != "resourceVersion"
	}
	state := stateOf(params.Content, identified)
	h.mu.RLock()
	known, ok := h.known[state]
	h.mu.RUnlock()
	if ok {
		return known.hash
	}
	known.hash = hashOfParams(params.Content, state)
	if state.held != 0 {
		known.content = params.Content
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.known) >= manyParams {
		clear(h.known)
	}
	if h.known == nil {
		h.known = map[paramsState]paramsHash{}
	}
	h.known[state.cloned()] = known
	return known.hash
}

func stateOf(content map[string]any, identified bool) paramsState {
	metadata, _ := content["metadata"].(map[string]any)
	uid, _ := metadata["uid"].(string)
	resourceVersion, _ := metadata["resourceVersion"].(string)
	if !identified || uid == "" || resourceVersion == "" {
		return paramsState{held: reflect.ValueOf(content).Pointer()}
	}
	apiVersion, _ := content["apiVersion"].(string)
	return paramsState{apiVersion: apiVersion, uid: uid, resourceVersion: resourceVersion}
}

// cloned shares no memory with the object.
func (s paramsState) cloned() paramsState {
	s.apiVersion, s.uid, s.resourceVersion = strings.Clone(s.apiVersion), strings.Clone(s.uid), strings.Clone(s.resourceVersion)
	return s
}

// hashOfParams hashes an object without what an apiserver makes. A Secret is named by its state instead: from a hash of
// its data, a short password could be found.
func hashOfParams(content map[string]any, state paramsState) string {
	if content["kind"] == "Secret" {
		if state.uid == "" {
			return ""
		}
		return policy.ContentHash([]string{state.uid, state.resourceVersion})
	}
	metadata, _ := content["metadata"].(map[string]any)
	written := maps.Clone(metadata)
	maps.DeleteFunc(written, func(field string, _ any) bool { return slices.Contains(unhashed, field) })
	whole := maps.Clone(content)
	whole["metadata"] = written
	return policy.ContentHash(whole)
}
