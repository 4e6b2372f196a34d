package engine_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// recorded is what an apiserver's policy plugin was given in one request, and what it decided. testdata/recorded holds
// requests of two apiservers, and the policies and params that they had.
type recorded struct {
	Operation       replay.Operation `json:"operation"`
	Resource        string           `json:"resource"`
	SubResource     string           `json:"subresource"`
	Kind            string           `json:"kind"`
	Namespace       string           `json:"namespace"`
	NamespaceObject content          `json:"namespaceObject"`
	Object          content          `json:"object"`
	OldObject       content          `json:"oldObject"`
	Request         struct {
		Name     string          `json:"name"`
		UserInfo ingest.UserInfo `json:"userInfo"`
		DryRun   bool            `json:"dryRun"`
		Options  content         `json:"options"`
	} `json:"request"`
	Evaluations []struct {
		Policy            string `json:"policy"`
		Binding           string `json:"binding"`
		BindingNotMatched bool   `json:"bindingNotMatched"`
		ConfigError       string `json:"configError"`
		Results           []struct {
			Param *struct {
				Namespace, Name string
			} `json:"param"`
			Decisions []struct {
				Action, Evaluation, Message, Reason string
			} `json:"decisions"`
			AuditAnnotations []struct {
				Action, Error, Key, Value string
			} `json:"auditAnnotations"`
		} `json:"results"`
	} `json:"evaluations"`
}

// recording is an apiserver's.
type recording struct {
	minor    int
	cluster  []map[string]any
	policies []*admissionv1.ValidatingAdmissionPolicy
	bindings []*admissionv1.ValidatingAdmissionPolicyBinding
	requests []recorded
}

var recordings = map[string]int{"v1.36.3": 36, "v1.37.1": 37}

// TestRecorded holds the engine to what apiservers decided, and to what their code decides given the same.
func TestRecorded(t *testing.T) {
	for version, minor := range recordings {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := readRecording(t, version, minor)
			e, plugin := r.engine(t), r.upstream(t)
			for i := range r.requests {
				req := r.request(t, i)
				got := e.Evaluate(req)
				where := fmt.Sprintf("request %d: %s %s %s", i, req.Operation, r.requests[i].Resource, req.ObjectName)
				if diff := gocmp.Diff(r.requests[i].decided().text(), withoutEffects(decided(got)).text()); diff != "" {
					t.Errorf("%s: not as recorded (-recorded +engine):\n%s", where, diff)
				}
				if diff := plugin.at(t, req).differs(req, got); diff != "" {
					t.Errorf("%s: %s", where, diff)
				}
			}
		})
	}
}

func readRecording(t testing.TB, version string, minor int) *recording {
	r := &recording{minor: minor}
	folder := "testdata/recorded/" + version + "/"
	lines(t, folder+"cluster.jsonl.gz", func(line []byte) error {
		var o map[string]any
		if err := kjson.Unmarshal(line, &o); err != nil {
			return err
		}
		switch o["kind"] {
		case "ValidatingAdmissionPolicy":
			p := &admissionv1.ValidatingAdmissionPolicy{}
			r.policies = append(r.policies, p)
			return runtime.DefaultUnstructuredConverter.FromUnstructured(o, p)
		case "ValidatingAdmissionPolicyBinding":
			b := &admissionv1.ValidatingAdmissionPolicyBinding{}
			r.bindings = append(r.bindings, b)
			return runtime.DefaultUnstructuredConverter.FromUnstructured(o, b)
		default:
			r.cluster = append(r.cluster, o)
			return nil
		}
	})
	lines(t, folder+"dispatches.jsonl.gz", func(line []byte) error {
		r.requests = append(r.requests, recorded{})
		return json.Unmarshal(line, &r.requests[len(r.requests)-1])
	})
	if len(r.policies) < 100 || len(r.requests) < 100 {
		t.Fatalf("%s: there are %d policies and %d requests", folder, len(r.policies), len(r.requests))
	}
	return r
}

func lines(t testing.TB, path string, f func([]byte) error) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
	s := bufio.NewScanner(z)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if err := f(s.Bytes()); err != nil {
			t.Fatalf("reading %s: %v", path, err)
		}
	}
	if err := s.Err(); err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
}

func (r *recording) engine(t testing.TB) *engine.Engine {
	e, err := engine.New(engine.Config{Minor: r.minor, Policies: r.policies, Bindings: r.bindings})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// request is the i-th of the recording, in the cluster as it was then.
func (r *recording) request(t testing.TB, i int) *replay.Request {
	d := r.requests[i]
	objects := r.cluster
	if d.NamespaceObject != nil {
		objects = append(slices.Clip(objects), namespaceOf(d.NamespaceObject))
	}
	world, err := replayer(r.minor, objects)
	if err != nil {
		t.Fatal(err)
	}
	return &replay.Request{
		Operation: d.Operation, SubResource: d.SubResource, Namespace: d.Namespace, Name: d.Request.Name, ObjectName: d.Request.Name,
		Resource: gvr(d.Resource), Kind: gvk(d.Kind), User: d.Request.UserInfo, DryRun: d.Request.DryRun,
		Options: known(d.Request.Options), Object: known(d.Object), OldObject: known(d.OldObject),
		Received: moment, Completed: moment, View: world.View(moment, moment),
	}
}

func namespaceOf(fields content) map[string]any {
	o := map[string]any{"apiVersion": "v1", "kind": "Namespace"}
	maps.Copy(o, fields)
	return o
}

// gvr reads "apps/v1, Resource=deployments", gvk "apps/v1, Kind=Deployment".
func gvr(s string) schema.GroupVersionResource {
	gv, resource, _ := strings.Cut(s, ", Resource=")
	group, version, _ := strings.Cut(gv, "/")
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

func gvk(s string) schema.GroupVersionKind {
	gv, kind, _ := strings.Cut(s, ", Kind=")
	group, version, _ := strings.Cut(gv, "/")
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

// upstream is the apiserver's plugin in the recording's cluster, but for the Namespaces.
func (r *recording) upstream(t testing.TB) *upstream {
	world, err := replayer(r.minor, r.cluster)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCluster(r.minor, r.cluster, world.Resources())
	if err != nil {
		t.Fatal(err)
	}
	u, err := newUpstream(r.minor, r.policies, r.bindings, c)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// at is the plugin with the Namespace of a request.
func (u *upstream) at(t testing.TB, req *replay.Request) *upstream {
	var objects []map[string]any
	if ns := req.View.Namespace(req.Namespace); ns.Content != nil {
		objects = append(objects, ns.Content)
	}
	c, err := newCluster(u.minor, objects, req.View.Resources())
	if err != nil {
		t.Fatal(err)
	}
	at := *u
	at.matcher = generic.NewPolicyMatcher(matching.NewMatcher(c.namespaces, noClient{}))
	return &at
}

// decided is what was recorded of a request, in the form in which it is compared.
func (r recorded) decided() *dispatched {
	out := &dispatched{Annotations: map[string]string{}}
	values := map[string][]string{}
	for _, e := range r.Evaluations {
		if e.ConfigError != "" {
			out.Outcomes = append(out.Outcomes, &outcome{Policy: e.Policy, Binding: e.Binding, ConfigError: e.ConfigError})
		}
		for _, result := range e.Results {
			o := &outcome{Policy: e.Policy, Binding: e.Binding, Skipped: len(result.Decisions) == 0 && len(result.AuditAnnotations) == 0}
			if p := result.Param; p != nil {
				o.Params = p.Namespace + "/" + p.Name
			}
			for i, d := range result.Decisions {
				switch d.Evaluation {
				case "deny":
					o.Decisions = append(o.Decisions, fmt.Sprintf("%d Fail %s %s", i, d.Reason, d.Message))
				case "error":
					o.Decisions = append(o.Decisions, fmt.Sprintf("%d Error ignored=%t %s", i, d.Action == "admit", d.Message))
				}
			}
			for _, a := range result.AuditAnnotations {
				key := e.Policy + "/" + a.Key
				switch {
				case a.Action == "error" && o.AnnotationError == "":
					o.AnnotationError = a.Error
				case a.Action == "publish" && !slices.Contains(values[key], a.Value):
					values[key] = append(values[key], a.Value)
				}
			}
			out.Outcomes = append(out.Outcomes, o)
		}
	}
	for key, v := range values {
		out.Annotations[key] = strings.Join(v, ", ")
	}
	return out
}

// withoutEffects leaves out what was not recorded: warnings, the failure annotation, and whether the request was denied.
func withoutEffects(d *dispatched) *dispatched {
	annotations := maps.Clone(d.Annotations)
	delete(annotations, engine.FailureAnnotation)
	return &dispatched{Outcomes: d.Outcomes, Annotations: annotations}
}
