package pipeline_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/internal/pipeline"
)

// verifyPolicies are one policy with two validations and an audit annotation, one that denies, and one that names what
// is deleted.
const verifyPolicies = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: two}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: ["*"]}]}
  validations:
  - {expression: "request.operation == 'DELETE' || object.data.a == 'x'", message: "a must be x"}
  - {expression: "request.operation == 'DELETE' || object.data.b == 'y'", message: "b must, by all means, be y"}
  auditAnnotations:
  - {key: seen, valueExpression: "request.operation == 'DELETE' ? '' : object.data.a + ', ' + object.data.b"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: two}
spec: {policyName: two, validationActions: [Audit]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: deny}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: ["*"]}]}
  validations:
  - {expression: "request.operation == 'DELETE' || object.data.c != 'no'", message: "no c", reason: Forbidden}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: deny}
spec: {policyName: deny, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: names}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [DELETE]}]}
  validations:
  - {expression: "oldObject.metadata.name == 'kept'", messageExpression: "'gone: ' + oldObject.metadata.name"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: names}
spec: {policyName: names, validationActions: [Audit]}
`

// event is an audit event with what matters here.
type event map[string]any

const at = "2026-11-21T06:00:%02d.000000Z"

// created is the creation of a ConfigMap in second `second`.
func created(second int, a, b, c string) event {
	body := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": a, "b": b, "c": c},
		"metadata": map[string]any{"name": "n", "namespace": "ns", "uid": "u", "resourceVersion": fmt.Sprint(100 + second), "creationTimestamp": "2026-11-21T06:00:00Z", "managedFields": []any{map[string]any{"manager": "m", "operation": "Update"}}},
	}
	return event{
		"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "stage": "ResponseComplete",
		"auditID": fmt.Sprintf("id-%d", second), "verb": "create", "requestURI": "/api/v1/namespaces/ns/configmaps",
		"user":           map[string]any{"username": "alice"},
		"objectRef":      map[string]any{"resource": "configmaps", "namespace": "ns", "name": "n", "apiVersion": "v1"},
		"responseStatus": map[string]any{"code": 201}, "requestObject": body, "responseObject": body,
		"requestReceivedTimestamp": fmt.Sprintf(at, second), "stageTimestamp": fmt.Sprintf(at, second),
		"annotations": map[string]any{"authorization.k8s.io/decision": "allow"},
	}
}

func (e event) with(key string, value any) event { e[key] = value; return e }

func (e event) noted(key, value string) event {
	e["annotations"].(map[string]any)[key] = value
	return e
}

// seen is the audit annotation of policy two.
func (e event) seen(value string) event { return e.noted("two/seen", value) }

// failed lists failures, as "policy index message".
func (e event) failed(failures ...string) event {
	list := []map[string]any{}
	for _, f := range failures {
		var policy string
		var index int
		if _, err := fmt.Sscanf(f, "%s %d", &policy, &index); err != nil {
			panic(err)
		}
		list = append(list, map[string]any{
			"message": strings.SplitN(f, " ", 3)[2], "policy": policy, "binding": policy, "expressionIndex": index, "validationActions": []string{"Audit"},
		})
	}
	value, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return e.noted("validation.policy.admission.k8s.io/validation_failure", string(value))
}

func (e event) rejected(code int, reason, message string) event {
	e["responseObject"] = nil
	return e.with("responseStatus", map[string]any{"code": code, "status": "Failure", "reason": reason, "message": message})
}

// collection makes a deletecollection of ConfigMaps of these names; without any, nothing shows what it deleted.
func (e event) collection(names ...string) event {
	e["verb"], e["requestObject"], e["responseObject"] = "deletecollection", nil, nil
	e["responseStatus"] = map[string]any{"code": 200}
	e["objectRef"] = map[string]any{"resource": "configmaps", "namespace": "ns", "apiVersion": "v1"}
	if len(names) == 0 {
		return e.with("level", "Metadata")
	}
	items := []any{}
	for _, name := range names {
		items = append(items, map[string]any{"metadata": map[string]any{"name": name, "namespace": "ns", "uid": name, "resourceVersion": "7"}})
	}
	return e.with("responseObject", map[string]any{"apiVersion": "v1", "kind": "ConfigMapList", "items": items})
}

// updated makes an update of the ConfigMap that took the whole second before.
func (e event) updated(second int) event {
	e["verb"], e["responseStatus"] = "update", map[string]any{"code": 200}
	return e.with("requestReceivedTimestamp", fmt.Sprintf(at, second-1))
}

func verify(t *testing.T, cfg pipeline.ReplayConfig, events []event) (*pipeline.Agreement, []pipeline.Disagreement) {
	t.Helper()
	return verifyWith(t, verifyPolicies, cfg, events)
}

func verifyWith(t *testing.T, policies string, cfg pipeline.ReplayConfig, events []event) (*pipeline.Agreement, []pipeline.Disagreement) {
	t.Helper()
	dir := t.TempDir()
	var log strings.Builder
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		log.Write(append(line, '\n'))
	}
	cfg.Policies, cfg.AuditLog = []string{filepath.Join(dir, "policies.yaml")}, []string{filepath.Join(dir, "audit.log")}
	for file, content := range map[string]string{cfg.Policies[0]: policies, cfg.AuditLog[0]: log.String()} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out []pipeline.Disagreement
	agreement, err := pipeline.Verify(t.Context(), cfg, func(d pipeline.Disagreement) { out = append(out, d) })
	if err != nil {
		t.Fatal(err)
	}
	if len(agreement.Refusals) > 0 {
		t.Fatal(agreement.Refusals)
	}
	return agreement, out
}

// counted writes the counts of the policies that differ from zero: "two failed 1".
func counted(a *pipeline.Agreement) []string {
	var out []string
	add := func(name, what string, n int64) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%s %s %d", name, what, n))
		}
	}
	for _, p := range a.Compared {
		add(p.Policy, "failed", p.Failed)
		add(p.Policy, "passed", p.Passed)
		add(p.Policy, "disagreed", p.Disagreed)
		add(p.Policy, "undecided", p.Undecided)
		add(p.Policy, "not recorded", p.NotRecorded)
		add(p.Policy, "reordered", p.Reordered)
	}
	for _, v := range a.Annotations {
		add(v.Policy+"/"+v.Key, "agreed", v.Agreed)
		add(v.Policy+"/"+v.Key, "disagreed", v.Disagreed)
		add(v.Policy+"/"+v.Key, "undecided", v.Undecided)
		add(v.Policy+"/"+v.Key, "not recorded", v.NotRecorded)
		add(v.Policy+"/"+v.Key, "reordered", v.Reordered)
	}
	for _, n := range a.NotGiven {
		add(n.Policy, "not given", n.Events)
	}
	return out
}

// told writes a disagreement on one line: "two 0 apiserver Fail message / vapshadow Pass".
func told(list []pipeline.Disagreement) []string {
	var out []string
	for _, d := range list {
		what := d.Annotation
		if d.ExpressionIndex != nil {
			what = fmt.Sprint(*d.ExpressionIndex)
		}
		side := func(s pipeline.Said, message string) string { return strings.TrimSpace(string(s) + " " + message) }
		out = append(out, fmt.Sprintf("%s %s: %s / %s", d.Policy, what, side(d.Apiserver, d.ApiserverMessage), side(d.Vapshadow, d.VapshadowMessage)))
	}
	return out
}

const denied = "configmaps \"n\" is forbidden: ValidatingAdmissionPolicy 'deny' with binding 'deny' denied request: "

func TestVerify(t *testing.T) {
	const a, b = "two 0 a must be x", "two 1 b must, by all means, be y"
	tests := []struct {
		name   string
		minor  int // 37 if 0
		events []event
		want   []string
		told   []string
	}{
		{
			name:   "both pass",
			events: []event{created(1, "x", "y", "").seen("x, y")},
			want:   []string{"deny passed 1", "two passed 1", "two/seen agreed 1"},
		},
		{
			name:   "all failures are listed",
			events: []event{created(1, "1", "2", "").seen("1, 2").failed(b, a)},
			want:   []string{"deny passed 1", "two failed 1", "two/seen agreed 1"},
		},
		{
			name:   "a failure is missing from a list of all",
			events: []event{created(1, "1", "2", "").seen("1, 2").failed(a)},
			want:   []string{"deny passed 1", "two disagreed 1", "two/seen agreed 1"},
			told:   []string{"two 1: Pass / Fail b must, by all means, be y"},
		},
		{
			name: "up to 1.36 one is enough", minor: 36,
			events: []event{created(1, "1", "2", "").seen("1, 2").failed(b)},
			want:   []string{"deny passed 1", "two failed 1", "two/seen agreed 1"},
		},
		{
			name: "up to 1.36 one is needed", minor: 36,
			events: []event{created(1, "1", "y", "").seen("1, y")},
			want:   []string{"deny passed 1", "two disagreed 1", "two/seen agreed 1"},
			told:   []string{"two 0: Pass / Fail a must be x"},
		},
		{
			name: "up to 1.36 another policy takes the place", minor: 36,
			events: []event{created(1, "1", "y", "").seen("1, y").failed("other 0 o")},
			want:   []string{"deny passed 1", "two not recorded 1", "two/seen agreed 1", "other not given 1"},
		},
		{
			name: "up to 1.36 the one has to be right", minor: 36,
			events: []event{created(1, "1", "y", "").seen("1, y").failed(b)},
			want:   []string{"deny passed 1", "two disagreed 1", "two/seen agreed 1"},
			told:   []string{"two 1: Fail b must, by all means, be y / Pass"},
		},
		{
			name:   "messages are compared byte for byte",
			events: []event{created(1, "1", "y", "").seen("1, y").failed("two 0 a must be X")},
			want:   []string{"deny passed 1", "two disagreed 1", "two/seen agreed 1"},
			told:   []string{"two 0: Fail a must be X / Fail a must be x"},
		},
		{
			name:   "the order of words is not, but counted",
			events: []event{created(1, "x", "2", "").seen("2, x").failed("two 1 by all means, b must, be y")},
			want:   []string{"deny passed 1", "two failed 1", "two reordered 1", "two/seen agreed 1", "two/seen reordered 1"},
		},
		{
			name:   "a list of fifty is not complete",
			events: []event{created(1, "1", "2", "").seen("1, 2").failed(slicesOf("other 0 o", 50)...)},
			want:   []string{"deny passed 1", "two not recorded 1", "two/seen agreed 1", "other not given 1"},
		},
		{
			name:   "a list in no known form",
			events: []event{created(1, "1", "2", "").seen("1, 2").noted("validation.policy.admission.k8s.io/validation_failure", `{"message":"m"}`)},
			want:   []string{"deny passed 1", "two not recorded 1", "two/seen agreed 1"},
		},
		{
			name:   "a failed request may not have come so far",
			events: []event{created(1, "1", "y", "").rejected(409, "AlreadyExists", `configmaps "n" already exists`)},
			want:   []string{"deny not recorded 1", "two not recorded 1"},
		},
		{
			name:   "a failed request that came so far",
			events: []event{created(1, "1", "y", "").rejected(409, "AlreadyExists", `configmaps "n" already exists`).seen("1, y").failed(a)},
			want:   []string{"deny not recorded 1", "two failed 1", "two/seen agreed 1"},
		},
		{
			name:   "both reject",
			events: []event{created(1, "x", "y", "no").rejected(403, "Forbidden", denied+"no c").seen("x, y")},
			want:   []string{"deny failed 1", "two passed 1", "two/seen agreed 1"},
		},
		{
			name:   "rejected in other words",
			events: []event{created(1, "x", "y", "no").rejected(403, "Forbidden", denied+"no C").seen("x, y")},
			want:   []string{"deny disagreed 1", "two passed 1", "two/seen agreed 1"},
			told:   []string{"deny : Deny no C / Deny no c"},
		},
		{
			name:   "rejected for another reason",
			events: []event{created(1, "x", "y", "no").rejected(422, "Invalid", denied+"no c").seen("x, y")},
			want:   []string{"deny disagreed 1", "two passed 1", "two/seen agreed 1"},
			told:   []string{"deny : Deny no c / Deny no c"},
		},
		{
			name:   "only the apiserver rejects",
			events: []event{created(1, "x", "y", "").rejected(422, "Invalid", "x is forbidden: ValidatingAdmissionPolicy 'two' denied request: failed to configure policy: broken").seen("x, y")},
			want:   []string{"deny not recorded 1", "two disagreed 1", "two passed 1", "two/seen agreed 1"},
			told:   []string{"two : Deny failed to configure policy: broken / Admit"},
		},
		{
			name:   "only vapshadow rejects",
			events: []event{created(1, "x", "y", "no").seen("x, y")},
			want:   []string{"deny disagreed 1", "two passed 1", "two/seen agreed 1"},
			told:   []string{"deny : Admit / Deny no c"},
		},
		{
			name:   "what the log does not hold",
			events: []event{created(1, "", "", "").with("level", "Metadata").with("requestObject", nil).with("responseObject", nil).seen("1, 2").failed(a, b)},
			want:   []string{"deny undecided 1", "two undecided 1", "two/seen undecided 1"},
		},
		{
			name:   "the value of an audit annotation differs",
			events: []event{created(1, "x", "y", "").seen("x, z"), created(2, "x", "y", "")},
			want:   []string{"deny passed 2", "two passed 2", "two/seen disagreed 2"},
			told:   []string{"two seen: Value x, z / Value x, y", "two seen: NoValue / Value x, y"},
		},
		{
			name:   "the end of a long value is cut off",
			events: []event{created(1, "x", "y", "").seen(strings.Repeat("x, ", 4000))},
			want:   []string{"deny passed 1", "two passed 1", "two/seen not recorded 1"},
		},
		{
			name:   "the annotations of a deletecollection are those of one of its objects",
			events: []event{created(1, "", "", "").collection("kept", "p", "q").failed("names 0 gone: q")},
			want:   []string{"deny passed 1", "names failed 1", "two passed 1"},
		},
		{
			name:   "and not of none of them",
			events: []event{created(1, "", "", "").collection("kept", "p", "q").failed("names 0 gone: r")},
			want:   []string{"deny passed 1", "names disagreed 1", "two passed 1"},
			told:   []string{"names 0: Fail gone: r / Fail gone: p"},
		},
		{
			name:   "a deletecollection that may have found nothing",
			events: []event{created(1, "", "", "").collection()},
			want:   []string{"deny not recorded 1", "names not recorded 1", "two not recorded 1"},
		},
		{
			name: "an update that may have been tried twice",
			events: []event{
				created(1, "x", "y", "").seen("x, y"),
				created(4, "x", "y", "").updated(4).seen("x, y"),
				created(5, "1", "y", "").updated(5).seen("x, y"),
			},
			want: []string{"deny passed 3", "two passed 2", "two undecided 1", "two/seen agreed 2", "two/seen undecided 1"},
		},
		{
			name:   "a decision on what is no admission request",
			events: []event{created(1, "", "", "").with("verb", "get").failed(a)},
			want:   []string{"two disagreed 1"},
			told:   []string{"two 0: Fail a must be x / NotAdmission"},
		},
		{
			name:   "other stages are not counted",
			events: []event{created(1, "1", "y", "").with("stage", "RequestReceived")},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			minor := 37
			if test.minor != 0 {
				minor = test.minor
			}
			agreement, disagreements := verify(t, pipeline.ReplayConfig{Minor: minor}, test.events)
			if diff := cmp.Diff(test.want, counted(agreement)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.told, told(disagreements)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func slicesOf(s string, n int) []string { return strings.Split(strings.Repeat(s+"\n", n-1)+s, "\n") }

func TestVerifyActions(t *testing.T) {
	e := created(1, "1", "y", "").seen("1, y")
	e.noted("validation.policy.admission.k8s.io/validation_failure",
		`[{"message":"a must be x","policy":"two","binding":"two","expressionIndex":0,"validationActions":["Warn","Audit"]}]`)
	_, got := verify(t, pipeline.ReplayConfig{Minor: 37}, []event{e})
	index := 0
	want := []pipeline.Disagreement{{
		AuditID: "id-1", StageTimestamp: time.Date(2026, 11, 21, 6, 0, 1, 0, time.UTC), Operation: "CREATE",
		Resource: "configmaps", Namespace: "ns", Name: "n", Policy: "two", Binding: "two", ExpressionIndex: &index,
		Apiserver: pipeline.SaidFail, ApiserverMessage: "a must be x", ApiserverActions: []string{"Warn", "Audit"},
		Vapshadow: pipeline.SaidFail, VapshadowMessage: "a must be x", VapshadowActions: []string{"Audit"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestVerifyPeriod(t *testing.T) {
	events := []event{created(1, "1", "y", ""), created(2, "x", "y", "").seen("x, y"), created(3, "1", "y", "")}
	agreement, got := verify(t, pipeline.ReplayConfig{
		Minor: 37, Since: time.Date(2026, 11, 21, 6, 0, 2, 0, time.UTC), Until: time.Date(2026, 11, 21, 6, 0, 3, 0, time.UTC),
	}, events)
	if agreement.Recorded != 1 || len(got) != 0 {
		t.Errorf("%d events hold a decision, want 1; %v", agreement.Recorded, got)
	}
}

func TestVerifyNotes(t *testing.T) {
	for name, test := range map[string]struct {
		minor int
		event event
		want  string
	}{
		"of 1.36 taken for 1.37": {37, created(1, "1", "2", "").seen("1, 2").failed("two 0 a must be x"), "up to Kubernetes 1.36"},
		"of 1.37 taken for 1.36": {36, created(1, "1", "2", "").seen("1, 2").failed("two 0 a must be x", "two 1 b must, by all means, be y"), "from Kubernetes 1.37"},
		"not bound":              {37, created(1, "1", "2", "").with("stage", "ResponseComplete"), `no event names policy "two"`},
		"no list":                {37, created(1, "x", "y", "").noted("validation.policy.admission.k8s.io/validation_failure", "oops"), "is no list of failures"},
	} {
		t.Run(name, func(t *testing.T) {
			agreement, _ := verify(t, pipeline.ReplayConfig{Minor: test.minor}, []event{test.event})
			if got := strings.Join(agreement.Notes, "\n"); !strings.Contains(got, test.want) {
				t.Errorf("notes %q do not say %q", got, test.want)
			}
		})
	}
}

func TestVerifyConnect(t *testing.T) {
	started := created(1, "", "", "").with("stage", "ResponseStarted").failed("two 0 a must be x")
	started["auditID"] = "open"
	agreement, _ := verify(t, pipeline.ReplayConfig{Minor: 37}, []event{started})
	if agreement.Unfinished != 1 || agreement.Recorded != 0 {
		t.Errorf("%d unfinished, %d recorded; want 1, 0", agreement.Unfinished, agreement.Recorded)
	}
}
