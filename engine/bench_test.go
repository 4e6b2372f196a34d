package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/warning"

	"github.com/vapshadow/vapshadow/replay"
)

// benchmarkSets are sets of policies made of recorded ones: n policies of which all match, or some.
var benchmarkSets = []struct {
	name            string
	total, matching int
}{{"1", 1, 1}, {"5", 5, 5}, {"10", 10, 10}, {"50", 50, 50}, {"200", 200, 200}, {"200-of-which-5-match", 200, 5}}

// BenchmarkEvaluate evaluates recorded creates and updates of pods and deployments, one a round: with the engine, with an
// engine that remembers nothing of the rounds before, and with the apiserver's own dispatcher.
func BenchmarkEvaluate(b *testing.B) {
	ballast := make([]byte, 64<<20) // The program holds as much: without it the garbage of so little is collected all the time.
	defer runtime.KeepAlive(ballast)
	r := readRecording(b, "v1.37.1", 37)
	requests := benchmarkRequests(b, r)
	for _, set := range benchmarkSets {
		chosen := *r
		chosen.policies, chosen.bindings = benchmarkPolicies(r, set.total, set.matching)
		b.Run("engine/"+set.name, func(b *testing.B) {
			e := chosen.engine(b)
			b.ReportAllocs()
			evaluations := 0
			for i := 0; b.Loop(); i++ {
				decision := e.Evaluate(requests[i%len(requests)])
				evaluations += len(decision.Evaluations)
				decision.Recycle()
			}
			b.ReportMetric(float64(evaluations)/float64(b.N), "evaluations/op")
		})
		b.Run("anew/"+set.name, func(b *testing.B) {
			e := chosen.engine(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e.Forget()
				e.Evaluate(requests[i%len(requests)]).Recycle()
			}
		})
		b.Run("upstream/"+set.name, func(b *testing.B) {
			benchmarkUpstream(b, chosen.upstream(b), requests)
		})
	}
}

// benchmarkUpstream dispatches as the apiserver does, with nothing wrapped.
func benchmarkUpstream(b *testing.B, u *upstream, requests []*replay.Request) {
	at := make([]*upstream, len(requests))
	attributes := make([]admission.Attributes, len(requests))
	for i, req := range requests {
		at[i] = u.at(b, req)
		a, err := attributesOf(u.minor, req)
		if err != nil {
			b.Fatal(err)
		}
		attributes[i] = a
	}
	ctx := warning.WithWarningRecorder(context.Background(), &dispatched{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		i %= len(requests)
		dispatcher := validating.NewDispatcher(u.authz, at[i].matcher)
		// A denial is no failure of the benchmark.
		_ = dispatcher.Dispatch(ctx, attributes[i], objectInterfaces{u.minor, requests[i]}, u.hooks)
	}
}

// BenchmarkCompile makes an Engine of 200 policies.
func BenchmarkCompile(b *testing.B) {
	r := readRecording(b, "v1.37.1", 37)
	r.policies, r.bindings = benchmarkPolicies(r, 200, 200)
	b.ReportAllocs()
	for b.Loop() {
		r.engine(b)
	}
	b.ReportMetric(float64(200*b.N)/b.Elapsed().Seconds(), "policies/s")
}

// benchmarkRequests are the recorded creates and updates of pods and deployments, in one cluster.
func benchmarkRequests(b *testing.B, r *recording) []*replay.Request {
	var out []*replay.Request
	for i, d := range r.requests {
		resource := gvr(d.Resource).Resource
		if d.SubResource == "" && d.Object != nil && (resource == "pods" || resource == "deployments") && d.Operation != replay.Connect {
			out = append(out, r.request(b, i))
		}
	}
	if len(out) < 10 {
		b.Fatalf("there are %d requests on pods and deployments", len(out))
	}
	return out
}

// benchmarkPolicies are copies of the recorded policies without params, all costly ones left out: the first few match
// pods and deployments, the others a resource that no request is for.
func benchmarkPolicies(r *recording, total, matching int) (policies []*admissionv1.ValidatingAdmissionPolicy, bindings []*admissionv1.ValidatingAdmissionPolicyBinding) {
	var from []*admissionv1.ValidatingAdmissionPolicy
	for _, p := range r.policies {
		if p.Spec.ParamKind == nil && p.Name != "op-cost" && slices.ContainsFunc(p.Spec.MatchConstraints.ResourceRules, matchesWorkloads) {
			from = append(from, p)
		}
	}
	for i := range total {
		p := from[i%len(from)].DeepCopy()
		p.Name = fmt.Sprintf("p%d-%s", i, p.Name)
		rule := admissionv1.NamedRuleWithOperations{}
		rule.Operations = []admissionv1.OperationType{"*"}
		rule.Rule = admissionv1.Rule{APIGroups: []string{"", "apps"}, APIVersions: []string{"v1"}, Resources: []string{"pods", "deployments"}}
		if i >= matching {
			rule.Resources = []string{"secrets"}
		}
		p.Spec.MatchConstraints.ResourceRules = []admissionv1.NamedRuleWithOperations{rule}
		policies = append(policies, p)
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: p.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Audit},
		}}
		binding.Name = p.Name + "-b"
		bindings = append(bindings, binding)
	}
	return policies, bindings
}

func matchesWorkloads(rule admissionv1.NamedRuleWithOperations) bool {
	return slices.ContainsFunc(rule.Resources, func(s string) bool { return s == "pods" || s == "deployments" || s == "*" })
}
