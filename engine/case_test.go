package engine_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/engine/policy"
	"github.com/vapshadow/vapshadow/internal/manifest"
	"github.com/vapshadow/vapshadow/replay"
)

// ruleFile is a file of testdata: policies in a cluster, and requests with what is wanted of them. testdata/README.md
// describes the language.
type ruleFile struct {
	minor int
	// noNamespaces: no Namespace is known. Otherwise those that a file leaves out are there, without labels.
	noNamespaces bool
	// notUpstream is why the apiserver's own code is not asked about this file; empty where it is.
	notUpstream string
	policies    []*admissionv1.ValidatingAdmissionPolicy
	bindings    []*admissionv1.ValidatingAdmissionPolicyBinding
	cluster     []map[string]any
	requests    []requestCase
	archive     *txtar.Archive
}

// requestCase is a request of a ruleFile: wanted is the index of its section in the archive.
type requestCase struct {
	name    string
	request request
	want    string
	wanted  int
}

func readRules(data []byte) (*ruleFile, error) {
	f := &ruleFile{minor: engine.NewestMinor, archive: txtar.Parse(data)}
	if err := f.comment(string(f.archive.Comment)); err != nil {
		return nil, err
	}
	for i, section := range f.archive.Files {
		if err := f.section(i, section); err != nil {
			return nil, fmt.Errorf("%s: %w", section.Name, err)
		}
	}
	for _, c := range f.requests {
		if c.wanted == 0 {
			return nil, fmt.Errorf("request %q has no section that says what is wanted of it", c.name)
		}
	}
	if len(f.policies) == 0 || len(f.requests) == 0 {
		return nil, fmt.Errorf("there are %d policies and %d requests: want one of each at least", len(f.policies), len(f.requests))
	}
	f.addNamespaces()
	return f, nil
}

// addNamespaces adds the Namespaces of the requests where the file has none at all.
func (f *ruleFile) addNamespaces() {
	if f.noNamespaces || slices.ContainsFunc(f.cluster, func(o map[string]any) bool { return o["kind"] == "Namespace" }) {
		return
	}
	names := []string{"default"}
	for _, c := range f.requests {
		if n := c.request.namespace(); n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, n := range names {
		f.cluster = append(f.cluster, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": n, "uid": "uid-" + n, "resourceVersion": "1"}})
	}
}

// comment reads the head of a file: a sentence, a link, and settings such as `minor: 36`.
func (f *ruleFile) comment(text string) error {
	if !strings.Contains(text, "https://kubernetes.io/docs/") {
		return fmt.Errorf("the head has no link to the documentation of Kubernetes")
	}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "minor":
			if _, err := fmt.Sscan(value, &f.minor); err != nil {
				return fmt.Errorf("reading minor: %w", err)
			}
		case "namespaces":
			f.noNamespaces = value == "not known"
		case "not upstream":
			f.notUpstream = value
		}
	}
	return nil
}

func (f *ruleFile) section(at int, section txtar.File) error {
	prefix, what, found := strings.Cut(section.Name, ".")
	if !found || what == "yaml" {
		prefix, what = "", section.Name
	}
	switch what {
	case "policy.yaml":
		return f.addPolicies(section.Data)
	case "cluster.yaml":
		objects, err := documents(section.Data)
		f.cluster = append(f.cluster, objects...)
		return err
	case "request.yaml":
		c := requestCase{name: prefix}
		if err := yaml.UnmarshalStrict(section.Data, &c.request); err != nil {
			return err
		}
		f.requests = append(f.requests, c)
		return nil
	}
	if name, isWant := strings.CutSuffix(section.Name, "want"); isWant {
		name = strings.TrimSuffix(name, ".")
		for i := range f.requests {
			if f.requests[i].name == name {
				f.requests[i].want, f.requests[i].wanted = string(section.Data), at
				return nil
			}
		}
		return fmt.Errorf("no request of that name comes before it")
	}
	return fmt.Errorf("want policy.yaml, cluster.yaml, [NAME.]request.yaml or [NAME.]want")
}

// addPolicies reads policies and bindings, and fills in what a file leaves out.
func (f *ruleFile) addPolicies(data []byte) error {
	contents, err := documents(data)
	if err != nil {
		return err
	}
	var objects []manifest.Object
	bound := map[string]bool{}
	for _, content := range contents {
		if name, isBinding := binding(content); isBinding {
			bound[name] = true
		}
	}
	for _, content := range contents {
		objects = append(objects, completed(content))
		name := objects[len(objects)-1].Content["metadata"].(map[string]any)["name"].(string)
		if _, isBinding := binding(content); !isBinding && !bound[name] {
			objects = append(objects, completed(map[string]any{
				"metadata": map[string]any{"name": name + "-binding"}, "spec": map[string]any{"policyName": name},
			}))
		}
	}
	set, refusals, rest := policy.Load(objects, policy.Options{Minor: f.minor, Stored: true})
	if len(refusals) > 0 || len(rest) > 0 {
		return fmt.Errorf("refused: %v; no policies or bindings: %v", refusals, rest)
	}
	for _, p := range set.Policies {
		f.policies = append(f.policies, p.ValidatingAdmissionPolicy)
	}
	for _, b := range set.Bindings {
		f.bindings = append(f.bindings, b.ValidatingAdmissionPolicyBinding)
	}
	return nil
}

func binding(content map[string]any) (policy string, ok bool) {
	spec, _ := content["spec"].(map[string]any)
	name, ok := spec["policyName"].(string)
	return name, ok
}

// completed is a policy or a binding with the defaults of the language.
func completed(content map[string]any) manifest.Object {
	spec, _ := content["spec"].(map[string]any)
	kind, name := "ValidatingAdmissionPolicy", "policy"
	if of, ok := binding(content); ok {
		kind, name = "ValidatingAdmissionPolicyBinding", "binding"
		setDefault(spec, "policyName", any(of))
		setDefault(spec, "validationActions", any([]any{"Deny"}))
	} else {
		everything := map[string]any{"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "operations": []any{"*"}, "resources": []any{"*/*"}}
		setDefault(spec, "matchConstraints", any(map[string]any{"resourceRules": []any{everything}}))
		if spec["auditAnnotations"] == nil {
			setDefault(spec, "validations", any([]any{map[string]any{"expression": "true"}}))
		}
	}
	setDefault(content, "metadata", any(map[string]any{"name": name}))
	setDefault(content, "apiVersion", any("admissionregistration.k8s.io/v1"))
	setDefault(content, "kind", any(kind))
	return manifest.Object{APIVersion: content["apiVersion"].(string), Kind: kind, Content: content}
}

func setDefault(m map[string]any, key string, value any) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

// documents reads YAML of several documents as Kubernetes decodes JSON.
func documents(data []byte) ([]map[string]any, error) {
	var out []map[string]any
	for i, document := range bytes.Split(append([]byte("\n"), data...), []byte("\n---")) {
		raw, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		var content map[string]any
		if err := kjson.Unmarshal(raw, &content); err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		if content != nil {
			out = append(out, content)
		}
	}
	return out, nil
}

// world is the cluster of a ruleFile, and a request on it.
func (f *ruleFile) world() (*replay.Replayer, error) {
	return replayer(f.minor, f.cluster)
}

// replayer shows objects to a new Replayer, those first that tell of kinds.
func replayer(minor int, objects []map[string]any) (*replay.Replayer, error) {
	r := replay.New(replay.Config{Minor: minor})
	ordered := slices.Clone(objects)
	slices.SortStableFunc(ordered, func(a, b map[string]any) int { return tellsKinds(b) - tellsKinds(a) })
	for _, o := range ordered {
		version, _ := o["apiVersion"].(string)
		kind, _ := o["kind"].(string)
		if err := r.Snapshot(version, kind, o); err != nil {
			return nil, fmt.Errorf("taking in a %s: %w", kind, err)
		}
	}
	return r, nil
}

func tellsKinds(o map[string]any) int {
	if kind, _ := o["kind"].(string); replay.TellsKinds(kind) {
		return 1
	}
	return 0
}

// moment is when all requests of these tests are admitted.
var moment = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
