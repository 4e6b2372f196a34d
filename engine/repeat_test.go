package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/replay"
)

// TestRepeats: which failures of an update the object had before, by what the policy reads of it.
func TestRepeats(t *testing.T) {
	const (
		bad   = "metadata: {name: web, namespace: shop, resourceVersion: '1', labels: {app: web}}\nspec: {replicas: 9, paused: true}\nstatus: {replicas: 1}"
		wrote = "status: {replicas: 2}" // what a controller wrote since; the rest is as it was
	)
	const replicas = "expression: object.spec.replicas < 5"
	for _, tt := range []struct {
		name string
		// policy is the spec, or the one validation of it; change is what the update changed of the bad object.
		policy, change string
		edit           func(*request)
		want           string
	}{
		{"status", replicas, wrote, nil, "0 Fail repeats"},
		{"what is read", replicas, "spec: {replicas: 8, paused: true}", nil, "0 Fail"},
		{"beside what is read", replicas, "spec: {replicas: 9, paused: false}", nil, "0 Fail repeats"},
		{"one validation of two", "validations: [{" + replicas + "}, {expression: '!object.spec.paused'}]", "spec: {replicas: 8, paused: true}", nil, "0 Fail, 1 Fail repeats"},
		{"through a variable", "variables: [{name: spec, expression: object.spec.replicas}]\nvalidations: [{expression: variables.spec < 5}]", "spec: {replicas: 8}", nil, "0 Fail"},
		{"through a variable, status", "variables: [{name: spec, expression: object.spec.replicas}]\nvalidations: [{expression: variables.spec < 5}]", wrote, nil, "0 Fail repeats"},
		{"params do not matter, nor does the namespace", "expression: object.spec.replicas < 5 && namespaceObject.metadata.name != ''", wrote, nil, "0 Fail repeats"},
		{"an error", "expression: object.spec.strategy.rollingUpdate.maxSurge != 1", wrote, nil, "0 Error repeats"},
		{"an error, and another validation's place", "validations: [{expression: object.spec.strategy.rollingUpdate.maxSurge != 1}, {expression: object.spec.paused == true}]", "spec: {replicas: 9, paused: false}", nil, "0 Error, 1 Error"},
		{"a match condition", "matchConditions: [{name: m, expression: \"object.metadata.labels.app == 'web'\"}]\nvalidations: [{" + replicas + "}]", wrote, nil, "0 Fail repeats"},
		{"a match condition that is met only now", "matchConditions: [{name: m, expression: \"object.metadata.labels.new == 'yes'\"}]\nvalidations: [{" + replicas + "}]", "metadata: {labels: {new: 'yes'}}", nil, "0 Fail"},
		{"a match condition about users", "matchConditions: [{name: m, expression: request.userInfo.username != 'bob'}]\nvalidations: [{" + replicas + "}]", wrote, nil, "0 Fail repeats"},
		{"a selector", "matchConstraints: {objectSelector: {matchLabels: {app: web}}, resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*']}]}\nvalidations: [{" + replicas + "}]", wrote, nil, "0 Fail repeats"},
		{"a selector that selects only now", "matchConstraints: {objectSelector: {matchLabels: {new: 'yes'}}, resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*']}]}\nvalidations: [{" + replicas + "}]", "metadata: {labels: {new: 'yes'}}", nil, "0 Fail"},
		{"a Namespace that its selector selects only now", "matchConstraints: {namespaceSelector: {matchLabels: {new: 'yes'}}, resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [namespaces]}]}\nvalidations: [{expression: has(object.metadata.annotations)}]", "metadata: {labels: {new: 'yes'}}", namespace, "0 Fail"},
		{"a Namespace that its selector selected before", "matchConstraints: {namespaceSelector: {matchLabels: {app: web}}, resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [namespaces]}]}\nvalidations: [{expression: has(object.metadata.annotations)}]", "", namespace, "0 Fail repeats"},
		{"who asks", "expression: object.spec.replicas < 5 || request.userInfo.username == 'bob'", wrote, nil, "0 Fail"},
		{"how it is asked", "expression: object.spec.replicas < 5 || request.dryRun", wrote, nil, "0 Fail"},
		{"the request as a whole", "expression: object.spec.replicas < 5 || [request].exists(r, r.name == '')", wrote, nil, "0 Fail"},
		{"the operation", "expression: request.operation == 'DELETE' || object.spec.replicas < 5", wrote, nil, "0 Fail repeats"},
		{"nothing of the object", "expression: oldObject.spec.replicas < 5", wrote, nil, "0 Fail"},
		{"nothing but whether it is there", "expression: object == null", wrote, nil, "0 Fail"},
		{"the whole object, status", "expression: '[object].all(o, o.spec.replicas < 5)'", wrote, nil, "0 Fail repeats"},
		{"the whole object, status where that is written", "expression: '[object].all(o, o.spec.replicas < 5)'", wrote, func(r *request) { r.SubResource = "status" }, "0 Fail"},
		{"the whole object, finalizers", "expression: '[object].all(o, o.spec.replicas < 5)'", "metadata: {finalizers: [a/b], labels: {app: web}}", nil, "0 Fail repeats"},
		{"the whole object, labels", "expression: '[object].all(o, o.spec.replicas < 5)'", "metadata: {labels: {app: other}}", nil, "0 Fail"},
		{"the whole object, spec", "expression: '[object].all(o, o.spec.replicas < 5)'", "spec: {replicas: 9, paused: false}", nil, "0 Fail"},
		{"the whole object, an unknown part", "expression: '[object].all(o, o.spec.replicas < 5)'", wrote, func(r *request) { r.Unknown = map[string]replay.Reason{"oldObject.spec.paused": replay.NotStored} }, "0 Fail"},
		{"the whole object, an unknown part that is left out", "expression: '[object].all(o, o.spec.replicas < 5)'", wrote, func(r *request) {
			r.Unknown = map[string]replay.Reason{"oldObject.metadata.managedFields": replay.NotStored}
		}, "0 Fail repeats"},
		{"an unknown oldObject", replicas, wrote, func(r *request) {
			r.Operation, r.Missing = replay.Update, map[string]replay.Reason{"oldObject": replay.NoHistory}
		}, "0 Fail"},
		{"an unknown part of oldObject", replicas, wrote, func(r *request) { r.Unknown = map[string]replay.Reason{"oldObject.spec.replicas": replay.NotStored} }, "0 Fail"},
		{"another unknown part of oldObject", replicas, wrote, func(r *request) { r.Unknown = map[string]replay.Reason{"oldObject.spec.paused": replay.NotStored} }, "0 Fail repeats"},
		{"an update or a create", replicas, wrote, func(r *request) { r.OrCreate, r.Operation = true, replay.Update }, "0 Fail"},
		{"a create", replicas, wrote, func(r *request) { r.Operation, r.OldObject = replay.Create, nil }, "0 Fail"},
		{"an ignored error", "failurePolicy: Ignore\nvalidations: [{expression: object.spec.strategy.rollingUpdate.maxSurge != 1}]", wrote, nil, "0 Error repeats"},
		{"another version of the object", "matchConstraints: {resourceRules: [{apiGroups: [autoscaling], apiVersions: [v1], operations: ['*'], resources: [horizontalpodautoscalers]}]}\nvalidations: [{expression: object.spec.maxReplicas < 5}]", "", scaler("autoscaling/v2"), "0 Fail"},
		{"the same version of the object", "matchConstraints: {resourceRules: [{apiGroups: [autoscaling], apiVersions: [v2], operations: ['*'], resources: [horizontalpodautoscalers]}]}\nvalidations: [{expression: object.spec.maxReplicas < 5}]", "", scaler("autoscaling/v2"), "0 Fail repeats"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.HasPrefix(tt.policy, "expression:") {
				tt.policy = "validations:\n- " + tt.policy
			}
			f := &ruleFile{minor: engine.NewestMinor}
			if err := f.addPolicies([]byte("spec:\n  " + strings.ReplaceAll(tt.policy, "\n", "\n  "))); err != nil {
				t.Fatal(err)
			}
			e, err := engine.New(engine.Config{Minor: f.minor, Policies: f.policies, Bindings: f.bindings})
			if err != nil {
				t.Fatal(err)
			}
			r := request{Object: object(t, bad, tt.change), OldObject: object(t, bad, "")}
			if tt.edit != nil {
				tt.edit(&r)
			}
			if r.Missing != nil {
				r.OldObject = nil
			}
			f.requests = []requestCase{{request: r}}
			f.addNamespaces()
			world, err := f.world()
			if err != nil {
				t.Fatal(err)
			}
			req, err := r.build(world)
			if err != nil {
				t.Fatal(err)
			}
			unknown := *req
			unknown.OrCreate = true
			never := strings.ReplaceAll(tt.want, " repeats", "")
			for _, which := range []string{"anew", "remembered"} {
				if diff := gocmp.Diff(tt.want, failures(e.Evaluate(req))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", which, diff)
				}
				if diff := gocmp.Diff(never, failures(e.Evaluate(&unknown))); diff != "" {
					t.Errorf("%s, where it may have been a create (-want +got):\n%s", which, diff)
				}
			}
		})
	}
}

// scaler puts a HorizontalPodAutoscaler into the place of the objects.
func scaler(version string) func(*request) {
	return func(r *request) {
		r.Object = content{
			"apiVersion": version, "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "web", "namespace": "shop", "resourceVersion": "1"},
			"spec": map[string]any{"maxReplicas": int64(9), "scaleTargetRef": map[string]any{"kind": "Deployment", "name": "web"}},
		}
		r.OldObject = r.Object
	}
}

// namespace makes the objects Namespaces.
func namespace(r *request) {
	for _, o := range []content{r.Object, r.OldObject} {
		o["apiVersion"], o["kind"], o["spec"], o["status"] = "v1", "Namespace", map[string]any{}, map[string]any{}
	}
}

// object is a Deployment, with some of its fields replaced.
func object(t *testing.T, text, change string) content {
	t.Helper()
	out := content{}
	for _, y := range []string{"apiVersion: apps/v1\nkind: Deployment", text, change} {
		var fields content
		raw, err := yaml.YAMLToJSON([]byte(y))
		if err == nil {
			err = fields.UnmarshalJSON(raw)
		}
		if err != nil {
			t.Fatalf("%v in %q", err, y)
		}
		if m, ok := fields["metadata"].(map[string]any); ok && out["metadata"] != nil {
			metadata := maps.Clone(out["metadata"].(map[string]any))
			maps.Copy(metadata, m)
			fields["metadata"] = metadata
		}
		maps.Copy(out, fields)
	}
	return out
}

func failures(d engine.Decision) string {
	var out []string
	for _, e := range d.Evaluations {
		for _, v := range e.Verdicts {
			s := fmt.Sprintf("%d %s", v.ExpressionIndex, v.Result)
			if v.Repeats {
				s += " repeats"
			}
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

// TestRepeatsFailWithoutTheUpdate: what is said to repeat fails too where the update changes nothing at all.
func TestRepeatsFailWithoutTheUpdate(t *testing.T) {
	r := readRecording(t, "v1.37.1", 37)
	e := r.engine(t)
	random := rand.New(rand.NewPCG(7, 7))
	repeated := 0
	for i := range r.requests {
		req := r.request(t, i)
		if req.OldObject.Content == nil {
			continue
		}
		for range 20 {
			changed := *req
			changed.OldObject = changedObject(random, req.Object)
			changed.Object = changedObject(random, req.Object)
			unchanged := changed
			unchanged.Object = changed.OldObject
			before := e.Evaluate(&unchanged).Evaluations
			for _, now := range e.Evaluate(&changed).Evaluations {
				for _, v := range now.Verdicts {
					if !v.Repeats {
						continue
					}
					repeated++
					if !failsAt(before, now, v) {
						t.Fatalf("request %d: policy %s validation %d repeats, and passes where nothing is changed", i, now.Policy, v.ExpressionIndex)
					}
				}
			}
		}
	}
	if repeated < 100 {
		t.Errorf("only %d failures repeat", repeated)
	}
}

func failsAt(list []engine.Evaluation, like engine.Evaluation, v engine.Verdict) bool {
	return slices.ContainsFunc(list, func(e engine.Evaluation) bool {
		return e.Policy == like.Policy && e.Binding == like.Binding && slices.ContainsFunc(e.Verdicts, func(o engine.Verdict) bool {
			// Of an unknown one no more than the message may be unknown.
			return o.ExpressionIndex == v.ExpressionIndex && (o.Result == v.Result || o.Result == engine.Unknown)
		})
	})
}
