package replay_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/replay"
)

// TestOwner: whose a Pod is, by what the log shows of its ReplicaSet, and by its own label where it shows nothing.
func TestOwner(t *testing.T) {
	const (
		replicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-6d4f, namespace: shop, uid: rs, resourceVersion: "3", %s}}`
		pod        = `{verb: create, requestURI: /api/v1/namespaces/shop/pods, at: 5, code: 201, responseObject: {apiVersion: v1, kind: Pod, metadata: {name: web-6d4f-x,
			namespace: shop, uid: p, resourceVersion: "5", labels: {%s}, ownerReferences: [{apiVersion: apps/v1, kind: %s, name: %s, uid: rs, controller: %v}]}}}`
		hash = "pod-template-hash: 6d4f"
	)
	deployed := fmt.Sprintf(replicaSet, "ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: front, uid: d, controller: true}]")
	bare := fmt.Sprintf(replicaSet, "labels: {app: web}")
	for _, tt := range []struct {
		name       string
		replicaSet string // as the snapshot shows it; empty where it does not
		labels     string
		kind, of   string
		controls   bool
		want       *replay.Owner
	}{
		{"the ReplicaSet is known", deployed, hash, "ReplicaSet", "web-6d4f", true, &replay.Owner{Kind: "Deployment", Name: "front"}},
		{"the ReplicaSet is known to be bare", bare, hash, "ReplicaSet", "web-6d4f", true, &replay.Owner{Kind: "ReplicaSet", Name: "web-6d4f"}},
		{"by the label", "", hash, "ReplicaSet", "web-6d4f", true, &replay.Owner{Kind: "Deployment", Name: "web"}},
		{"by the label, a name with dashes", "", hash, "ReplicaSet", "web-6d4f-6d4f", true, &replay.Owner{Kind: "Deployment", Name: "web-6d4f"}},
		{"another hash", "", "pod-template-hash: 7777", "ReplicaSet", "web-6d4f", true, &replay.Owner{Kind: "ReplicaSet", Name: "web-6d4f"}},
		{"an empty hash", "", "pod-template-hash: ''", "ReplicaSet", "web-", true, &replay.Owner{Kind: "ReplicaSet", Name: "web-"}},
		{"nothing before the hash", "", hash, "ReplicaSet", "-6d4f", true, &replay.Owner{Kind: "ReplicaSet", Name: "-6d4f"}},
		{"no label", "", "app: web", "ReplicaSet", "web-6d4f", true, &replay.Owner{Kind: "ReplicaSet", Name: "web-6d4f"}},
		{"a Job, which has no such rule", "", hash, "Job", "web-6d4f", true, &replay.Owner{Kind: "Job", Name: "web-6d4f"}},
		{"no controller", "", hash, "ReplicaSet", "web-6d4f", false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var snapshot []map[string]any
			if tt.replicaSet != "" {
				snapshot = append(snapshot, object(t, tt.replicaSet))
			}
			r := newReplayer(t, replay.Config{Minor: 37}, snapshot)
			d := observed(r, event(t, fmt.Sprintf(pod, tt.labels, tt.kind, tt.of, tt.controls)))
			if diff := cmp.Diff(tt.want, r.Requests(d)[0].Owner()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
