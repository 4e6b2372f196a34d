// Package ingest turns what a log, a topic or a webhook delivers into audit events.
package ingest

import (
	"encoding/json"
	"time"
)

// Stages at which an apiserver writes an audit event.
const (
	StageRequestReceived  = "RequestReceived"
	StageResponseStarted  = "ResponseStarted"
	StageResponseComplete = "ResponseComplete"
	StagePanic            = "Panic"
)

// Audit levels, from the least to the most that an event holds.
const (
	LevelNone            = "None"
	LevelMetadata        = "Metadata"
	LevelRequest         = "Request"
	LevelRequestResponse = "RequestResponse"
)

// Event is an audit.k8s.io/v1 Event. The bodies stay undecoded: most events match no policy and are never looked
// into.
//
// https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Event
type Event struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`

	Level      string `json:"level"`
	AuditID    string `json:"auditID"`
	Stage      string `json:"stage"`
	RequestURI string `json:"requestURI"`
	Verb       string `json:"verb"`

	User             UserInfo  `json:"user"`
	ImpersonatedUser *UserInfo `json:"impersonatedUser"`
	SourceIPs        []string  `json:"sourceIPs"`
	UserAgent        string    `json:"userAgent"`

	ObjectRef      *ObjectReference `json:"objectRef"`
	ResponseStatus *Status          `json:"responseStatus"`
	RequestObject  json.RawMessage  `json:"requestObject"`
	ResponseObject json.RawMessage  `json:"responseObject"`

	RequestReceivedTimestamp time.Time         `json:"requestReceivedTimestamp"`
	StageTimestamp           time.Time         `json:"stageTimestamp"`
	Annotations              map[string]string `json:"annotations"`

	// At is where the event was found.
	At Position `json:"-"`
	// Absent names what the source of the event never holds, or lost on the way, so that an empty field says nothing:
	// the constants that begin with Absent. It is empty for an event as an apiserver wrote it.
	Absent []string `json:"-"`
}

// What Absent may name.
const (
	// AbsentGroups, AbsentUID and AbsentExtra are of the user, and of the impersonated user where there is one.
	AbsentGroups = "user.groups"
	AbsentUID    = "user.uid"
	AbsentExtra  = "user.extra"
	// AbsentUsername is the name of the user, or of the impersonated user where there is one.
	AbsentUsername = "user.username"
	// AbsentQuery is that of the requestURI: dryRun, fieldManager and the other options.
	AbsentQuery = "requestURI.query"
	// AbsentPrecondition stands for the uid and the resourceVersion of the objectRef.
	AbsentPrecondition = "objectRef.precondition"
	// AbsentCode is the code of the response: whether the request succeeded is known, but not whether a patch or an
	// update created the object, nor the exact error.
	AbsentCode = "responseStatus.code"
	// AbsentReceived is the requestReceivedTimestamp, which repeats the stageTimestamp then.
	AbsentReceived = "requestReceivedTimestamp"
	// AbsentRequest and AbsentResponse are bodies that were there, and were cut off or replaced on the way.
	AbsentRequest  = requestObject
	AbsentResponse = responseObject
)

// UserInfo is who made a request, as authentication.k8s.io/v1 UserInfo has it.
type UserInfo struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
}

// ObjectReference is what a request was about. An apiserver leaves out what the URI does not say: the name of a
// generateName create, for one.
type ObjectReference struct {
	Resource        string `json:"resource"`
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	UID             string `json:"uid"`
	APIGroup        string `json:"apiGroup"`
	APIVersion      string `json:"apiVersion"`
	ResourceVersion string `json:"resourceVersion"`
	Subresource     string `json:"subresource"`
}

// Status is what of a metav1.Status an event shows of the response: no object content.
type Status struct {
	Status  string `json:"status"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Code    int32  `json:"code"`
}
