package pipeline_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/internal/pipeline"
	"github.com/vapshadow/vapshadow/sink"
)

// usersPolicy matches without a look at any object.
const usersPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: users}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: ["", apps], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: ["*"]}]}
  validations: [{expression: "request.userInfo.username.startsWith('system:')"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: users}
spec: {policyName: users, validationActions: [Audit]}
`

// TestUnmatched: requests that no policy has a rule for are counted as though they were rebuilt, and no others are left
// out.
func TestUnmatched(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(users, []byte(usersPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{examplePolicies, filepath.Join(examplePolicies, "op-nsobj.yaml"), users} {
		cfg := pipeline.ReplayConfig{Minor: 37, Policies: []string{name}, Cluster: []string{exampleCluster}, AuditLog: []string{exampleLog}}
		var all, some []sink.Record
		var unmatched, none []time.Time
		cfg.Records = func(r *sink.Record) error { all = append(all, copied(r)); return nil }
		want, err := pipeline.Replay(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Records = func(r *sink.Record) error { some = append(some, copied(r)); return nil }
		cfg.Unmatched = func(at time.Time) { unmatched = append(unmatched, at) }
		got, err := pipeline.Replay(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -all +some:\n%s", name, diff)
		}
		if len(unmatched) == 0 {
			t.Errorf("%s: all requests were rebuilt: the test shows nothing", name)
		}
		rest := some
		for _, r := range all {
			if len(rest) > 0 && rest[0].AuditID == r.AuditID {
				if diff := cmp.Diff(r, rest[0]); diff != "" {
					t.Errorf("%s: request %s: -all +some:\n%s", name, r.AuditID, diff)
				}
				rest = rest[1:]
				continue
			}
			if len(r.Evaluations) > 0 {
				t.Errorf("%s: request %s was left out", name, r.AuditID)
			}
			none = append(none, r.StageTimestamp)
		}
		if diff := cmp.Diff(none, unmatched); diff != "" {
			t.Errorf("%s: -left out +told:\n%s", name, diff)
		}
	}
}
