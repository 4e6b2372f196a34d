package replay

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/vapshadow/vapshadow/internal/jsonobject"
)

// decodeBody decodes a body of an event as Kubernetes decodes objects: integers are int64. A body that is no JSON
// object (a JSON patch is an array) gives nil.
func decodeBody(raw json.RawMessage) map[string]any {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	return jsonobject.Decode(raw)
}

// isObject says whether a response shows a whole object of a kind, and not a Status, a Table or metadata alone.
func isObject(body map[string]any) bool {
	if body == nil {
		return false
	}
	kind, _ := body["kind"].(string)
	version, _ := body["apiVersion"].(string)
	return kind != "" && kind != "Status" && !strings.HasPrefix(version, "meta.k8s.io/")
}

func isPartialMetadata(body map[string]any) bool {
	return body != nil && body["kind"] == "PartialObjectMetadata"
}

func metadataOf(body map[string]any) map[string]any {
	metadata, _ := body["metadata"].(map[string]any)
	return metadata
}

func stringAt(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// revision reads a resourceVersion; 0 where there is none that can be ordered.
func revision(body map[string]any) uint64 {
	n, err := strconv.ParseUint(stringAt(metadataOf(body), "resourceVersion"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// withMetadata returns the object with some of its metadata changed; a nil value takes the field away. The original
// stays as it is.
func withMetadata(body map[string]any, changes map[string]any) map[string]any {
	out := shallow(body)
	metadata := shallow(metadataOf(body))
	for k, v := range changes {
		if v == nil {
			delete(metadata, k)
		} else {
			metadata[k] = v
		}
	}
	out["metadata"] = metadata
	return out
}

func shallow(m map[string]any) map[string]any {
	out := make(map[string]any, len(m)+1)
	maps.Copy(out, m)
	return out
}
