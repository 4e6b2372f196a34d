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
}

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
