package replay

import (
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/ingest"
)

// NotAdmission says why an event is not an admission request. The codes are part of every output: additions only.
type NotAdmission string

const (
	// OtherStage: only ResponseComplete and Panic end a request.
	OtherStage NotAdmission = "OtherStage"
	// ReadOnly: get, list and watch do not go through admission.
	ReadOnly NotAdmission = "ReadOnly"
	// NonResource: the request was about no resource.
	NonResource NotAdmission = "NonResource"
	// Excluded: reviews and admission policies themselves are never shown to policies.
	Excluded NotAdmission = "Excluded"
	// Refused: authentication or authorization stopped the request before admission.
	Refused NotAdmission = "Refused"
)

// connectSubresources are the subresources that are connected to, whatever the verb.
var connectSubresources = map[string][]string{
	"pods":     {"attach", "exec", "portforward", "proxy"},
	"services": {"proxy"},
	"nodes":    {"proxy"},
}

// excluded are the resources that the policy plugin never looks at, by group.
// https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
var excluded = map[string][]string{
	"authentication.k8s.io":        {"tokenreviews", "selfsubjectreviews"},
	"authorization.k8s.io":         {"localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"},
	"admissionregistration.k8s.io": {"validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"},
}

const annotationDecision = "authorization.k8s.io/decision"

// classify tells the operation of an event, or why it is not an admission request.
func classify(ev *ingest.Event) (Operation, NotAdmission) {
	if ev.Stage != ingest.StageResponseComplete && ev.Stage != ingest.StagePanic {
		return "", OtherStage
	}
	ref := ev.ObjectRef
	if ref == nil || ref.Resource == "" {
		return "", NonResource
	}
	if slices.Contains(excluded[ref.APIGroup], ref.Resource) {
		return "", Excluded
	}
	op := operation(ev)
	if op == "" {
		return "", ReadOnly
	}
	if ev.Annotations[annotationDecision] == "forbid" || code(ev) == 401 {
		return "", Refused
	}
	return op, ""
}

// ToldByOutline says whether an event is no admission request, and leaves nothing behind, by its outline alone, and why
// it is none. It says of these what Decode does.
func ToldByOutline(o *ingest.Outline) (because NotAdmission, told bool) {
	switch {
	case string(o.Stage) != ingest.StageResponseComplete && string(o.Stage) != ingest.StagePanic:
		return OtherStage, true
	case len(o.Resource) == 0:
		return NonResource, true
	}
	if slices.Contains(excluded[string(o.APIGroup)], string(o.Resource)) || verbOperation(string(o.Verb)) != "" {
		return "", false
	}
	if len(o.APIGroup) == 0 && slices.Contains(connectSubresources[string(o.Resource)], string(o.Subresource)) {
		return "", false
	}
	return ReadOnly, true
}

func operation(ev *ingest.Event) Operation {
	ref := ev.ObjectRef
	if ref.APIGroup == "" && slices.Contains(connectSubresources[ref.Resource], ref.Subresource) {
		return Connect
	}
	op := verbOperation(ev.Verb)
	if op == Update && code(ev) == 201 {
		return Create // A PUT or PATCH that made the object.
	}
	return op
}

// verbOperation is the operation that a verb mostly stands for; empty for those that change nothing.
func verbOperation(verb string) Operation {
	switch verb {
	case "create":
		return Create
	case "update", "patch":
		return Update
	case "delete", "deletecollection":
		return Delete
	}
	return ""
}

func code(ev *ingest.Event) int32 {
	if ev.ResponseStatus == nil {
		return 0
	}
	return ev.ResponseStatus.Code
}

func succeeded(ev *ingest.Event) bool { c := code(ev); return c >= 200 && c < 300 }

// path returns the URI without its query, and the query.
func path(uri string) (path, query string) {
	path, query, _ = strings.Cut(uri, "?")
	return path, query
}
