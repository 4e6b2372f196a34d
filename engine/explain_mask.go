package engine

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/vapshadow/vapshadow/replay"
)

// Mask stands for each value that is not shown.
const Mask = "(masked)"

// masked is a copy of an object in which what is secret is masked: the data of Secrets, also in the annotation in which
// kubectl keeps the manifest, and issued tokens. Keys are left as they are.
func masked(content map[string]any, req *replay.Request) map[string]any {
	switch {
	case content == nil:
		return nil
	case isSecret(content) || requestsSecrets(req):
		out := maps.Clone(content)
		for _, field := range []string{"data", "stringData"} {
			maskValues(out, field)
		}
		if metadata, ok := out["metadata"].(map[string]any); ok {
			out["metadata"] = maskedAt(metadata, "annotations", corev1.LastAppliedConfigAnnotation)
		}
		return out
	case isToken(content) || req.SubResource == "token":
		return maskedAt(content, "status", "token")
	default:
		return content
	}
}

func isSecret(content map[string]any) bool {
	return content["apiVersion"] == "v1" && content["kind"] == "Secret"
}

func isToken(content map[string]any) bool { return content["kind"] == "TokenRequest" }

func requestsSecrets(req *replay.Request) bool {
	return req.Resource.Group == "" && req.Resource.Resource == "secrets"
}

// secretInputs says whether values that policies compute may come from a Secret.
func secretInputs(req *replay.Request, params *replay.Object) bool {
	if requestsSecrets(req) || req.SubResource == "token" || params != nil && isSecret(params.Content) {
		return true
	}
	for _, content := range []map[string]any{req.Object.Content, req.OldObject.Content} {
		if isSecret(content) || isToken(content) {
			return true
		}
	}
	return false
}

// maskValues masks the values of a field of a copy; the whole field where it is no map.
func maskValues(copied map[string]any, field string) {
	value, ok := copied[field]
	if !ok || value == nil {
		return
	}
	values, ok := value.(map[string]any)
	if !ok {
		copied[field] = Mask
		return
	}
	hidden := make(map[string]any, len(values))
	for key := range values {
		hidden[key] = Mask
	}
	copied[field] = hidden
}

// maskedAt is a copy in which one entry of a map is masked, if it is there.
func maskedAt(content map[string]any, field, key string) map[string]any {
	inner, ok := content[field].(map[string]any)
	if _, there := inner[key]; !ok || !there {
		return content
	}
	out, copied := maps.Clone(content), maps.Clone(inner)
	copied[key] = Mask
	out[field] = copied
	return out
}
