package replay_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/replay"
)

// TestNamespaceLabel: the label is the Namespace's as of the request, and a Namespace's own.
func TestNamespaceLabel(t *testing.T) {
	r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{
		object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: n, resourceVersion: "1", labels: {team: red}}}`),
		object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: bare, uid: b, resourceVersion: "2"}}`),
	})
	config := func(at, namespace string) string {
		return `{verb: create, requestURI: /api/v1/namespaces/` + namespace + `/configmaps, at: ` + at + `, code: 201, responseObject: {apiVersion: v1, kind: ConfigMap,
			metadata: {name: c` + at + `, namespace: ` + namespace + `, uid: u` + at + `, resourceVersion: "1` + at + `"}}}`
	}
	for _, tt := range []struct{ name, event, want string }{
		{"as the log begins", config("10", "shop"), "red"},
		{"without the label", config("11", "bare"), ""},
		{"not known", config("12", "unheard-of"), ""},
		{"in no namespace", `{verb: create, requestURI: /api/v1/nodes, at: 13, code: 201, responseObject: {apiVersion: v1, kind: Node,
			metadata: {name: n, uid: u13, resourceVersion: "113", labels: {team: none}}}}`, ""},
		{"a Namespace that gets another", `{verb: update, requestURI: /api/v1/namespaces/shop, at: 20, code: 200, responseObject: {apiVersion: v1, kind: Namespace,
			metadata: {name: shop, uid: n, resourceVersion: "120", labels: {team: blue}}}}`, "blue"},
		{"after that", config("30", "shop"), "blue"},
		{"a new Namespace", `{verb: create, requestURI: /api/v1/namespaces, at: 31, code: 201, responseObject: {apiVersion: v1, kind: Namespace,
			metadata: {name: new, uid: m, resourceVersion: "131", labels: {team: green}}}}`, "green"},
		{"a Namespace that goes", `{verb: delete, requestURI: /api/v1/namespaces/shop, at: 40, code: 200, responseObject: {apiVersion: v1, kind: Namespace,
			metadata: {name: shop, uid: n, resourceVersion: "140", labels: {team: blue}, deletionTimestamp: "2026-01-01T00:00:40Z"}}}`, "blue"},
		{"a Namespace that is written as nothing shows", `{level: Metadata, verb: update, requestURI: /api/v1/namespaces/new, at: 50, code: 200}`, ""},
	} {
		requests := r.Requests(observed(r, event(t, tt.event)))
		if len(requests) != 1 {
			t.Fatalf("%s: %d requests", tt.name, len(requests))
		}
		if got := requests[0].NamespaceLabel("team"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if got := requests[0].NamespaceLabel("other"); got != "" {
			t.Errorf("%s: another label is %q", tt.name, got)
		}
	}
}

// TestUnknownNamespaceLabel: a label of which the log does not tell whether it was so is none.
func TestUnknownNamespaceLabel(t *testing.T) {
	content := object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: red}}}`)
	for _, tt := range []struct {
		unknown []string
		want    string
	}{
		{[]string{"metadata"}, ""},
		{[]string{"metadata", "labels"}, ""},
		{[]string{"metadata", "labels", "team"}, ""},
		{[]string{"metadata", "labels", "other"}, "red"},
		{[]string{"metadata", "annotations"}, "red"},
	} {
		req := &replay.Request{
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"},
			Object:   replay.Object{Content: content, Unknown: []replay.Unknown{{Path: tt.unknown, Because: replay.WritesMissed}}},
		}
		if got := req.NamespaceLabel("team"); got != tt.want {
			t.Errorf("%v unknown: %q, want %q", tt.unknown, got, tt.want)
		}
	}
}
