package replay_test

import (
	"fmt"
	"testing"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// TestToldByOutline holds what an outline tells of an event to what Decode says of all of it.
func TestToldByOutline(t *testing.T) {
	refs := map[string]string{"none": `{}`}
	for _, group := range []string{"", "apps", "admissionregistration.k8s.io", "authentication.k8s.io"} {
		for _, resource := range []string{"", "pods", "services", "nodes", "validatingadmissionpolicies", "tokenreviews"} {
			for _, sub := range []string{"", "exec", "proxy", "log", "status"} {
				ref := fmt.Sprintf(`{"apiGroup":%q,"resource":%q,"subresource":%q}`, group, resource, sub)
				refs[ref] = ref
			}
		}
	}
	told := map[replay.NotAdmission]int{}
	for _, ref := range refs {
		for _, stage := range []string{"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic", ""} {
			for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "post", "proxy", ""} {
				data := fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a","stage":%q,"verb":%q,"objectRef":%s}`, stage, verb, ref)
				entry := ingest.Entry{Data: []byte(data)}
				o := ingest.Outliner{Told: func(o *ingest.Outline) bool {
					because, enough := replay.ToldByOutline(o)
					events, _ := ingest.Decode(entry)
					want := replay.Decode(events[0])
					if enough && (want.Operation != "" || want.NotAdmission != because) {
						t.Errorf("%s: told to be %q, and is %q %q", data, because, want.Operation, want.NotAdmission)
					}
					if enough {
						told[because]++
					}
					return enough
				}}
				if events, skips := o.Decode(entry); len(skips) > 0 || len(events) > 1 {
					t.Errorf("%s: %v %v", data, events, skips)
				}
			}
		}
	}
	for _, because := range []replay.NotAdmission{replay.OtherStage, replay.ReadOnly, replay.NonResource} {
		if told[because] == 0 {
			t.Errorf("nothing is told to be %s", because)
		}
	}
}
