package engine_test

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// costs says how much the expressions of a policy cost.
type costs int

const (
	// cheap expressions are far from every limit, whatever their inputs.
	cheap costs = iota
	// anyCost: an expression may reach the limit of a call.
	anyCost
	// spendsBudget: some twenty validations spend the budget of an evaluation.
	spendsBudget
)

// drawPolicies draws policies, each with a binding.
func drawPolicies(t *rapid.T, cost costs) ([]*admissionv1.ValidatingAdmissionPolicy, []*admissionv1.ValidatingAdmissionPolicyBinding) {
	var policies []*admissionv1.ValidatingAdmissionPolicy
	var bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	for i := range rapid.IntRange(1, 3).Draw(t, "policies") {
		p := drawPolicy(t, fmt.Sprintf("p%d", i), cost)
		policies = append(policies, p)
		b := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: p.Name + "-b"}}
		b.Spec.PolicyName = p.Name
		b.Spec.ValidationActions = rapid.SampledFrom([][]admissionv1.ValidationAction{{"Deny"}, {"Audit"}, {"Warn", "Audit"}}).Draw(t, "actions")
		if p.Spec.ParamKind != nil {
			b.Spec.ParamRef = &admissionv1.ParamRef{
				Name: rapid.SampledFrom([]string{"limits", "nothing"}).Draw(t, "params"), Namespace: "config",
				ParameterNotFoundAction: rapid.SampledFrom([]*admissionv1.ParameterNotFoundActionType{new(admissionv1.AllowAction), new(admissionv1.DenyAction)}).Draw(t, "not found"),
			}
		}
		bindings = append(bindings, b)
	}
	return policies, bindings
}

func drawPolicy(t *rapid.T, name string, cost costs) *admissionv1.ValidatingAdmissionPolicy {
	g := &grammar{t: t, variables: map[string][]string{}, dear: cost == spendsBudget, fewChecks: cost == cheap}
	p := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.FailurePolicy = rapid.SampledFrom([]*admissionv1.FailurePolicyType{new(admissionv1.Fail), new(admissionv1.Ignore), nil}).Draw(t, "failurePolicy")
	p.Spec.MatchConstraints = drawConstraints(t)
	if g.one(4) {
		p.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "match conditions") {
		p.Spec.MatchConditions = append(p.Spec.MatchConditions, admissionv1.MatchCondition{Name: fmt.Sprintf("m%d", i), Expression: g.whole(boolean, 1)})
	}
	if g.dear {
		p.Spec.Variables = append(p.Spec.Variables,
			admissionv1.Variable{Name: "big", Expression: "'" + strings.Repeat("0123456789", 900) + "'"},
			admissionv1.Variable{Name: "half", Expression: "variables.big.substring(0, 5000)"})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "variables") {
		of := rapid.SampledFrom([]string{boolean, integer, text, list}).Draw(t, "type")
		v := admissionv1.Variable{Name: fmt.Sprintf("v%d", i), Expression: g.whole(of, 2)}
		p.Spec.Variables = append(p.Spec.Variables, v)
		g.variables[of] = append(g.variables[of], v.Name)
	}
	most := 5
	if g.dear {
		most = 30
	}
	for range rapid.IntRange(1, most).Draw(t, "validations") {
		p.Spec.Validations = append(p.Spec.Validations, g.validation())
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "audit annotations") {
		p.Spec.AuditAnnotations = append(p.Spec.AuditAnnotations, admissionv1.AuditAnnotation{Key: fmt.Sprintf("k%d", i), ValueExpression: "string(" + g.whole(text, 2) + ")"})
	}
	return p
}

func (g *grammar) validation() admissionv1.Validation {
	v := admissionv1.Validation{Expression: g.whole(boolean, 3), Message: rapid.SampledFrom([]string{"", "no"}).Draw(g.t, "message")}
	if g.dear && !g.one(3) {
		v.Expression = "variables.big.contains(variables.half) && " + v.Expression
	}
	if g.one(3) {
		v.Reason = new(metav1.StatusReasonForbidden)
	}
	switch rapid.IntRange(0, 3).Draw(g.t, "messageExpression") {
	case 0:
		v.MessageExpression = "string(" + g.whole(text, 2) + ")"
	case 1:
		if g.dear {
			v.MessageExpression = "variables.big.contains(variables.half) ? 'dear' : ''"
		}
	}
	return v
}

// drawConstraints draws match constraints that match more often than not.
func drawConstraints(t *rapid.T) *admissionv1.MatchResources {
	rule := admissionv1.NamedRuleWithOperations{}
	rule.Operations = []admissionv1.OperationType{"*"}
	rule.Rule = admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}}
	m := &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{}, MatchPolicy: new(admissionv1.Equivalent),
	}
	switch rapid.IntRange(0, 7).Draw(t, "constraints") {
	case 0:
		m.ObjectSelector.MatchLabels = map[string]string{"a": "b"}
	case 1:
		m.ObjectSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "k", Operator: "DoesNotExist"}}
	case 2:
		m.NamespaceSelector.MatchLabels = map[string]string{"env": "prod"}
	case 3:
		rule.ResourceNames = []string{"a"}
	case 4:
		rule.Operations = []admissionv1.OperationType{"CREATE", "UPDATE"}
	}
	m.ResourceRules = []admissionv1.NamedRuleWithOperations{rule}
	return m
}

// generatedCluster is the cluster in which generated policies are evaluated.
var generatedCluster = mustDocuments(`
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com, uid: u0}, spec: {group: example.com, scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true}]}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: u1, resourceVersion: "1", managedFields: [{manager: a}], labels: {env: prod}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: lab, uid: u2, resourceVersion: "2", managedFields: [{manager: a}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: limits, namespace: config, uid: u3, resourceVersion: "3", managedFields: [{manager: a}]}, data: {max: "1"}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: maker, uid: u4}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: [create, get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: maker, uid: u5}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: maker}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: a}]}
`)

func mustDocuments(yaml string) []map[string]any {
	out, err := documents([]byte(yaml))
	if err != nil {
		panic(err)
	}
	return out
}

// drawRequest draws a request on a built-in or a custom resource.
func drawRequest(t *rapid.T, view replay.View) *replay.Request {
	kinds := []schema.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "example.com", Version: "v1", Kind: "Widget"}}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	gvr, _, _ := view.Resources().Resource(kind)
	name, namespace := rapid.SampledFrom([]string{"a", "b", "aa"}).Draw(t, "name"), rapid.SampledFrom([]string{"shop", "lab"}).Draw(t, "namespace")
	req := &replay.Request{
		Operation: rapid.SampledFrom([]replay.Operation{replay.Create, replay.Update, replay.Delete}).Draw(t, "operation"),
		Resource:  gvr, Kind: kind, Name: name, ObjectName: name, Namespace: namespace, View: view, Received: moment, Completed: moment,
		DryRun: rapid.Bool().Draw(t, "dryRun"), User: ingest.UserInfo{Username: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "user"), Groups: []string{"a"}},
		Object: known(nil), OldObject: known(nil),
	}
	if req.Operation != replay.Delete {
		req.Object = known(drawObject(t, kind, name, namespace))
	}
	if req.Operation != replay.Create {
		req.OldObject = known(drawObject(t, kind, name, namespace))
	}
	options := map[replay.Operation]string{replay.Create: "CreateOptions", replay.Update: "UpdateOptions", replay.Delete: "DeleteOptions"}
	req.Options = known(map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": options[req.Operation]})
	return req
}

func drawObject(t *rapid.T, kind schema.GroupVersionKind, name, namespace string) map[string]any {
	metadata := map[string]any{"name": name, "namespace": namespace, "uid": "u"}
	if rapid.Bool().Draw(t, "labelled") {
		labels := map[string]any{}
		for k, v := range rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "k"}), rapid.SampledFrom([]string{"a", "b", ""}), 0, 3).Draw(t, "labels") {
			labels[k] = v
		}
		metadata["labels"] = labels
	}
	spec := map[string]any{}
	if rapid.Bool().Draw(t, "has replicas") {
		spec["replicas"] = rapid.Int64Range(0, 3).Draw(t, "replicas")
	}
	if kind.Kind == "Widget" && rapid.Bool().Draw(t, "has list") {
		items := []any{}
		for _, s := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "aa"}), 0, 3).Draw(t, "list") {
			items = append(items, s)
		}
		spec["list"] = items
	}
	return map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "metadata": metadata, "spec": spec}
}
