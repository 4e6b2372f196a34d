package engine

import (
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/replay"
)

// Kind is a kind as the record writes it.
type Kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Resource is a resource as the record writes it.
type Resource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// ExplainedRequest is the admission request.
type ExplainedRequest struct {
	AuditID        string           `json:"auditID"`
	StageTimestamp time.Time        `json:"stageTimestamp"`
	Operation      replay.Operation `json:"operation"`
	// OrCreate: whether the failed request would have been a CREATE is not known.
	OrCreate    bool     `json:"orCreate,omitempty"`
	Resource    Resource `json:"resource"`
	SubResource string   `json:"subResource,omitempty"`
	// Kind is empty where nothing tells it.
	Kind      Kind   `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	// Name is admission's, ObjectName the object's where admission has none.
	Name       string         `json:"name,omitempty"`
	ObjectName string         `json:"objectName,omitempty"`
	DryRun     bool           `json:"dryRun"`
	Options    map[string]any `json:"options"`
	User       ExplainedUser  `json:"user"`
	UserAgent  string         `json:"userAgent,omitempty"`
	Code       int32          `json:"code,omitempty"`
}

// ExplainedUser is request.userInfo.
type ExplainedUser struct {
	Username string              `json:"username"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

// ExplainedInput is how an input is known. Input is object, oldObject, options, name, namespaceObject or authorizer.
type ExplainedInput struct {
	Input   string        `json:"input"`
	Level   replay.Level  `json:"level"`
	Because replay.Reason `json:"because,omitempty"`
	// Null: the input is known to be null.
	Null bool `json:"null,omitempty"`
	// Unknown are the parts that are not known.
	Unknown []ExplainedUnknown `json:"unknown,omitempty"`
}

// ExplainedUnknown is a part of an input that is not known: a path into it.
type ExplainedUnknown struct {
	Path    []string      `json:"path"`
	Because replay.Reason `json:"because"`
}

func explainRequest(req *replay.Request) ExplainedRequest {
	out := ExplainedRequest{
		Operation: req.Operation, OrCreate: req.OrCreate, Resource: Resource(req.Resource), SubResource: req.SubResource,
		Kind: Kind(req.Kind), Namespace: req.Namespace, Name: req.Name, DryRun: req.DryRun,
		Options: req.Options.Content, User: ExplainedUser(req.User),
	}
	if req.ObjectName != req.Name {
		out.ObjectName = req.ObjectName
	}
	if ev := req.Event; ev != nil {
		out.AuditID, out.StageTimestamp, out.UserAgent = ev.AuditID, ev.StageTimestamp, ev.UserAgent
		if ev.ResponseStatus != nil {
			out.Code = ev.ResponseStatus.Code
		}
	}
	return out
}

// explainInputs tells how the inputs are known that do not hang on the policy.
func explainInputs(s *scope) []ExplainedInput {
	req := s.req
	object := explainObject("object", req.Object)
	if req.Object.Other != nil {
		object.Unknown = append(object.Unknown, ExplainedUnknown{Path: []string{}, Because: replay.NumberForm})
	}
	options := explainObject("options", req.Options)
	name := ExplainedInput{Input: "name", Level: replay.Exact}
	for _, u := range req.Unknown {
		switch {
		case slices.Equal(u.Path, []string{"name"}):
			name.Level, name.Because = replay.Missing, u.Because
		case u.Path[0] == "options":
			options.Unknown = append(options.Unknown, ExplainedUnknown{Path: u.Path[1:], Because: u.Because})
		}
	}
	ns := s.namespaceObject()
	ns.known(s.engine.minor)
	namespace := ExplainedInput{Input: "namespaceObject", Level: ns.evidence.Level, Because: ns.evidence.Because, Unknown: explainUnknown(ns.unknown)}
	if ns.absent {
		namespace.Level, namespace.Because = replay.Missing, replay.NoNamespace
	}
	namespace.Null = !ns.absent && namespace.Level != replay.Missing && ns.null()
	_, rbac := req.View.RBAC()
	return []ExplainedInput{object, explainObject("oldObject", req.OldObject), options, name, namespace,
		{Input: "authorizer", Level: rbac.Level, Because: rbac.Because}}
}

func explainObject(input string, o replay.Object) ExplainedInput {
	return ExplainedInput{Input: input, Level: o.Level, Because: o.Because, Null: o.Null(), Unknown: explainUnknown(o.Unknown)}
}

func explainUnknown(parts []replay.Unknown) []ExplainedUnknown {
	var out []ExplainedUnknown
	for _, u := range parts {
		out = append(out, ExplainedUnknown(u))
	}
	return out
}
