package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// request is an admission request as a file writes it.
type request struct {
	// Operation is UPDATE where there are two objects, DELETE where there is an oldObject only, CREATE otherwise.
	Operation replay.Operation `json:"operation"`
	OrCreate  bool             `json:"orCreate"`
	// Resource is VERSION/RESOURCE or GROUP/VERSION/RESOURCE; that of the object's kind by default.
	Resource    string `json:"resource"`
	SubResource string `json:"subResource"`
	// Namespace and Name are the object's by default.
	Namespace *string                  `json:"namespace"`
	Name      *string                  `json:"name"`
	User      *userInfo                `json:"user"`
	DryRun    bool                     `json:"dryRun"`
	Options   content                  `json:"options"`
	Object    content                  `json:"object"`
	OldObject content                  `json:"oldObject"`
	Presumed  []string                 `json:"presumed"`
	Missing   map[string]replay.Reason `json:"missing"`
	Unknown   map[string]replay.Reason `json:"unknown"`
}

type userInfo struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
}

// content is a JSON object as Kubernetes decodes it, whole numbers as int64.
type content map[string]any

func (c *content) UnmarshalJSON(data []byte) error {
	var m map[string]any
	err := kjson.Unmarshal(data, &m)
	*c = m
	return err
}

// build makes the request that replay would have made.
func (r *request) build(world *replay.Replayer) (*replay.Request, error) {
	view := world.View(moment, moment)
	req := &replay.Request{
		Operation: r.operation(), OrCreate: r.OrCreate, SubResource: r.SubResource, DryRun: r.DryRun, View: view,
		Object: known(r.Object), OldObject: known(r.OldObject), Received: moment, Completed: moment,
		User: ingest.UserInfo{Username: "alice", Groups: []string{"system:authenticated"}},
	}
	if r.User != nil {
		req.User = ingest.UserInfo(*r.User)
	}
	if err := r.setResource(req); err != nil {
		return nil, err
	}
	r.setName(req)
	req.Options = known(r.Options)
	if kind := map[replay.Operation]string{replay.Create: "CreateOptions", replay.Update: "UpdateOptions", replay.Delete: "DeleteOptions"}[req.Operation]; kind != "" && r.Options == nil {
		req.Options = known(map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": kind})
	}
	return req, r.setEvidence(req)
}

func known(content map[string]any) replay.Object {
	return replay.Object{Evidence: replay.Evidence{Level: replay.Exact}, Content: content}
}

func (r *request) operation() replay.Operation {
	switch {
	case r.Operation != "":
		return r.Operation
	case r.Object != nil && r.OldObject != nil:
		return replay.Update
	case r.OldObject != nil:
		return replay.Delete
	default:
		return replay.Create
	}
}

func (r *request) setResource(req *replay.Request) error {
	resources := req.View.Resources()
	if r.Resource == "" {
		first := r.either()
		version, _ := first["apiVersion"].(string)
		kind, _ := first["kind"].(string)
		gvr, _, ok := resources.Resource(schema.FromAPIVersionAndKind(version, kind))
		if !ok {
			return fmt.Errorf("%s %s is the kind of no resource: say which resource it is", version, kind)
		}
		req.Resource = gvr
	} else {
		parts := strings.Split(r.Resource, "/")
		if len(parts) == 2 {
			parts = append([]string{""}, parts...)
		}
		if len(parts) != 3 {
			return fmt.Errorf("resource %q: want VERSION/RESOURCE or GROUP/VERSION/RESOURCE", r.Resource)
		}
		req.Resource = schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}
	}
	req.Kind, _ = resources.Kind(req.Resource, req.SubResource)
	return nil
}

func (r *request) either() map[string]any {
	if r.Object != nil {
		return r.Object
	}
	return r.OldObject
}

func (r *request) namespace() string {
	if r.Namespace != nil {
		return *r.Namespace
	}
	metadata, _ := r.either()["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	return namespace
}

func (r *request) setName(req *replay.Request) {
	metadata, _ := r.either()["metadata"].(map[string]any)
	req.Name, _ = metadata["name"].(string)
	if r.Name != nil {
		req.Name = *r.Name
	}
	req.Namespace = r.namespace()
	if req.Resource == (schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}) {
		req.Namespace = req.Name
	}
	req.ObjectName = req.Name
}

// setEvidence makes inputs missing, and parts of them unknown.
func (r *request) setEvidence(req *replay.Request) error {
	inputs := map[string]*replay.Object{"object": &req.Object, "oldObject": &req.OldObject, "options": &req.Options}
	for _, name := range r.Presumed {
		if inputs[name] == nil {
			return fmt.Errorf("presumed: no input %q", name)
		}
		inputs[name].Level = replay.Presumed
	}
	for name, because := range r.Missing {
		if inputs[name] == nil {
			return fmt.Errorf("missing: no input %q", name)
		}
		*inputs[name] = replay.Object{Evidence: replay.Evidence{Level: replay.Missing, Because: because}}
	}
	for path, because := range r.Unknown {
		name, rest, _ := strings.Cut(path, ".")
		u := replay.Unknown{Path: strings.Split(rest, "."), Because: because}
		switch {
		case name == "request":
			req.Unknown = append(req.Unknown, u)
		case inputs[name] != nil && rest != "":
			inputs[name].Unknown = append(inputs[name].Unknown, u)
		default:
			return fmt.Errorf("unknown: no path %q", path)
		}
	}
	return nil
}

// known says whether every input of the request is known, so that the apiserver's own code can be asked about it.
func (r *request) known() bool { return len(r.Missing)+len(r.Unknown) == 0 && !r.OrCreate }

// compact is JSON on one line.
func compact(v any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}
