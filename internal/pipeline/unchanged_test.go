package pipeline_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/vapshadow/vapshadow/internal/jsonobject"
	"github.com/vapshadow/vapshadow/internal/pipeline"
)

// TestObjectsStayAsTheyAre: nothing on the way of a request changes what was decoded, parts of which other objects have too.
func TestObjectsStayAsTheyAre(t *testing.T) {
	decodeBodies(t, func(body []byte) { jsonobject.Decode(body) }) // From now on they are met again.
	replayAll(t, pipeline.ReplayConfig{Policies: []string{examplePolicies}, Cluster: []string{exampleCluster}, AuditLog: []string{exampleLog}})
	bodies := 0
	decodeBodies(t, func(body []byte) {
		var want map[string]any
		if err := kjson.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, jsonobject.Decode(body)); diff != "" {
			t.Errorf("-want +after the replay:\n%s", diff)
		}
		bodies++
	})
	if bodies < 100 {
		t.Errorf("%d bodies", bodies)
	}
}

func decodeBodies(t *testing.T, decode func([]byte)) {
	for _, line := range exampleLines(t) {
		var ev struct{ RequestObject, ResponseObject json.RawMessage }
		if err := json.Unmarshal(line, &ev); err != nil {
			t.Fatal(err)
		}
		for _, body := range []json.RawMessage{ev.RequestObject, ev.ResponseObject} {
			if len(body) > 0 && body[0] == '{' {
				decode(body)
			}
		}
	}
}
