package ingest

import (
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// logEntry is what of a Cloud Logging LogEntry an audit event can be rebuilt from.
//
// https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry
type logEntry struct {
	InsertID  string            `json:"insertId"`
	Timestamp time.Time         `json:"timestamp"`
	Labels    map[string]string `json:"labels"`
	Operation *operation        `json:"operation"`
	Split     *split            `json:"split"`
	Payload   auditLog          `json:"protoPayload"`
}

// operation says which of the entries of a request this is: a watch has a first and a last.
type operation struct {
	ID    string `json:"id"`
	First bool   `json:"first"`
	Last  bool   `json:"last"`
}

// split says which part of an entry this is, where one was too large. Each part has all fields but the bodies, which are
// spread over the parts.
//
// https://cloud.google.com/logging/docs/audit/split-logs
type split struct {
	Index int `json:"index"`
	Total int `json:"totalSplits"`
}

// auditLog is https://cloud.google.com/logging/docs/reference/audit/auditlog/rest/Shared.Types/AuditLog.
type auditLog struct {
	ServiceName    string `json:"serviceName"`
	MethodName     string `json:"methodName"`
	ResourceName   string `json:"resourceName"`
	Authentication struct {
		PrincipalEmail    string `json:"principalEmail"`
		AuthoritySelector string `json:"authoritySelector"`
	} `json:"authenticationInfo"`
	Metadata struct {
		CallerIP  string `json:"callerIp"`
		UserAgent string `json:"callerSuppliedUserAgent"`
	} `json:"requestMetadata"`
	Status struct {
		Code    int32  `json:"code"`
		Message string `json:"message"`
	} `json:"status"`
	Request  jsontext.Value `json:"request"`
	Response jsontext.Value `json:"response"`
}

// gkeService is the serviceName of a cluster's own API; container.googleapis.com is that of the clusters.
const gkeService = "k8s.io"

// auditLog rebuilds the audit event of a Cloud Audit Log.
func (d *decoder) auditLog(data []byte) {
	var entry logEntry
	if err := jsonv2.Unmarshal(data, &entry); err != nil {
		d.skip(*explain(err, d.at))
		return
	}
	payload := &entry.Payload
	if payload.ServiceName != gkeService {
		d.skip(*skipped(OtherLog, d.at, "an audit log of the service %q, not %s", shorten(payload.ServiceName), gkeService))
		return
	}
	if s := entry.Split; s != nil && s.Index > 0 {
		d.skip(*skipped(SplitEvent, d.at, "part %d of %d of an entry that Cloud Logging split", s.Index+1, s.Total))
		return
	}
	ev, why := entry.event()
	if why != "" {
		d.skip(*skipped(InvalidEvent, d.at, "a Cloud Audit Log %s", why))
		return
	}
	ev.At = d.at
	d.events = append(d.events, ev)
}

// event rebuilds an audit event, or says why it cannot.
func (e *logEntry) event() (ev *Event, why string) {
	payload := &e.Payload
	ref, verb, ok := parseMethod(payload.MethodName, payload.ResourceName)
	id := e.id()
	switch {
	case !ok:
		return nil, "whose methodName and resourceName name no resource"
	case id == "":
		return nil, "without insertId"
	case e.Timestamp.IsZero():
		return nil, "without timestamp"
	}
	ev = &Event{
		Kind: eventKind, APIVersion: supportedVersion, AuditID: id, Stage: e.stage(), Verb: verb,
		RequestURI: pathOf(ref, verb, payload.ResourceName), ObjectRef: ref,
		User:                     UserInfo{Username: payload.Authentication.PrincipalEmail},
		UserAgent:                payload.Metadata.UserAgent,
		RequestReceivedTimestamp: e.Timestamp, StageTimestamp: e.Timestamp, Annotations: e.Labels,
		Absent: []string{AbsentGroups, AbsentUID, AbsentExtra, AbsentQuery, AbsentPrecondition, AbsentReceived},
	}
	if ip := payload.Metadata.CallerIP; ip != "" {
		ev.SourceIPs = []string{ip}
	}
	if other := payload.Authentication.AuthoritySelector; other != "" {
		ev.ImpersonatedUser = &UserInfo{Username: other}
	}
	// That the authority is the impersonated user is likely, but nothing says so.
	if ev.User.Username == "" || ev.ImpersonatedUser != nil {
		ev.Absent = append(ev.Absent, AbsentUsername)
	}
	ev.setBodies(payload)
	ev.setStatus(payload)
	if e.Split != nil {
		ev.Level, ev.RequestObject, ev.ResponseObject = LevelRequestResponse, nil, nil
		ev.lose(requestObject)
		ev.lose(responseObject)
	}
	return ev, ""
}

// id is the audit ID. Entries of one request have the operation in common, and an insertId each.
func (e *logEntry) id() string {
	if e.Operation != nil && e.Operation.ID != "" {
		return e.Operation.ID
	}
	return e.InsertID
}

// stage tells the end of a request from the beginning of a long one.
func (e *logEntry) stage() string {
	if e.Operation != nil && e.Operation.First && !e.Operation.Last {
		return StageResponseStarted
	}
	return StageResponseComplete
}
