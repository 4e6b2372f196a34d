package kafka

import (
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/vapshadow/vapshadow/ingest"
)

// Key is the key that an event is written with: that of its object, so that the events of one object stay in one
// partition and so in order. A subresource is of its parent. An event that is about no resource has its auditID.
func Key(cluster string, ev *ingest.Event) string {
	ref := ev.ObjectRef
	if ref == nil {
		return ev.AuditID
	}
	name := ref.Name
	if name == "" && ev.Verb == "create" {
		// The URI of a create has no name. The name that the server made for generateName is in its answer alone.
		if name = nameOf(ev.ResponseObject); name == "" {
			name = nameOf(ev.RequestObject)
		}
	}
	return strings.Join([]string{cluster, ref.APIGroup, ref.Resource, ref.Namespace, name}, "/")
}

// nameOf reads metadata.name of a body as an apiserver would; empty where there is none.
func nameOf(body []byte) string {
	var object struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if len(body) == 0 {
		return ""
	}
	if err := jsonv2.Unmarshal(body, &object, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return ""
	}
	return object.Metadata.Name
}
