package engine_test

import (
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/replay"
)

// TestUserNotKnown: where the groups of a user are not known, neither is what it may do.
func TestUserNotKnown(t *testing.T) {
	for field, want := range map[string]engine.Result{"": engine.Fail, "uid": engine.Fail, "groups": engine.Unknown, "username": engine.Unknown} {
		f, err := readRules([]byte(strings.NewReplacer("KIND", "ConfigMap", "PARAMS", limits,
			"params.metadata.name == 'other'", "authorizer.group('').resource('pods').namespace('default').check('get').allowed()").Replace(hashedRules) +
			"-- cluster.yaml --\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r, uid: r, resourceVersion: \"1\"}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		world, err := f.world()
		if err != nil {
			t.Fatal(err)
		}
		req, err := f.requests[0].request.build(world)
		if err != nil {
			t.Fatal(err)
		}
		if field != "" {
			req.Unknown = append(req.Unknown, replay.Unknown{Path: []string{"userInfo", field}, Because: replay.NotInSource})
		}
		e, err := engine.New(engine.Config{Minor: f.minor, Policies: f.policies, Bindings: f.bindings})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Evaluate(req).Evaluations[0]; got.Result != want {
			t.Errorf("%q: %+v", field, got)
		}
	}
}
