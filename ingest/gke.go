package ingest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
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

// setBodies takes the bodies over. What is there tells the level.
func (ev *Event) setBodies(payload *auditLog) {
	ev.RequestObject = ev.body(requestObject, withoutType(payload.Request))
	ev.ResponseObject = ev.body(responseObject, withoutType(payload.Response))
	switch {
	case payload.Response != nil:
		ev.Level = LevelRequestResponse
	case payload.Request != nil:
		ev.Level = LevelRequest
	default:
		ev.Level = LevelMetadata
	}
}

// setStatus finds the HTTP status. A failure has it in its response; otherwise there is only a code of gRPC, several
// HTTP codes to one.
func (ev *Event) setStatus(payload *auditLog) {
	var failure struct {
		Kind    string `json:"kind"`
		Status  string `json:"status"`
		Message string `json:"message"`
		Reason  string `json:"reason"`
		Code    int32  `json:"code"`
	}
	if jsonv2.Unmarshal(ev.ResponseObject, &failure, lenient) == nil && failure.Kind == "Status" && failure.Code != 0 {
		ev.ResponseStatus = &Status{failure.Status, failure.Message, failure.Reason, failure.Code}
		return
	}
	code := payload.Status.Code
	ev.ResponseStatus = &Status{Message: payload.Status.Message, Code: code}
	if code >= 100 {
		return
	}
	ev.ResponseStatus.Code = httpCode(code, ev.Verb)
	ev.Absent = append(ev.Absent, AbsentCode)
}

// httpCode is a status that an apiserver may have sent for a google.rpc.Code.
func httpCode(code int32, verb string) int32 {
	codes := []int32{200, 499, 500, 400, 504, 404, 409, 403, 429, 412, 409, 400, 501, 500, 503, 500, 401}
	switch {
	case code == 0 && verb == "create":
		return 201
	case code < 0 || int(code) >= len(codes):
		return 500
	}
	return codes[code]
}

// withoutType takes the "@type" off a body, which Cloud Logging adds, and leaves all other bytes as they are.
func withoutType(body jsontext.Value) json.RawMessage {
	dec := jsontext.NewDecoder(bytes.NewReader(body), lenient)
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return json.RawMessage(body)
	}
	for dec.PeekKind() == '"' {
		before := dec.InputOffset()
		name, err := dec.ReadToken()
		isType := err == nil && name.String() == "@type"
		if dec.SkipValue() != nil {
			break
		}
		if isType {
			head, tail := bytes.TrimSuffix(trimSpace(body[:before]), []byte{','}), trimSpace(body[dec.InputOffset():])
			if len(head) == 1 {
				tail = bytes.TrimPrefix(tail, []byte{','})
			}
			return json.RawMessage(slices.Concat(head, tail))
		}
	}
	return json.RawMessage(body)
}

// parseMethod reads what an entry is about. The resource's name has the group as Kubernetes writes it, "core" for the
// one without a name; the method's name has the verb, and tells a subresource from what else may stand behind a name.
//
//	io.k8s.apps.v1.deployments.scale.update   apps/v1/namespaces/shop/deployments/web/scale
func parseMethod(method, resource string) (ref *ObjectReference, verb string, ok bool) {
	words, parts := strings.Split(method, "."), strings.Split(resource, "/")
	if len(words) < 4 || len(parts) < 3 || slices.Contains(parts[:3], "") {
		return nil, "", false
	}
	ref = &ObjectReference{APIGroup: parts[0], APIVersion: parts[1]}
	if ref.APIGroup == "core" {
		ref.APIGroup = ""
	}
	switch n := len(words); {
	case words[n-3] == ref.APIVersion:
		ref.Resource = words[n-2]
	case n > 4 && words[n-4] == ref.APIVersion:
		ref.Resource, ref.Subresource = words[n-3], words[n-2]
	default:
		return nil, "", false
	}
	parts = parts[2:]
	if parts[0] == "namespaces" && ref.Resource != "namespaces" && len(parts) > 2 {
		ref.Namespace, parts = parts[1], parts[2:]
	}
	if parts[0] != ref.Resource {
		return nil, "", false
	}
	if len(parts) > 1 {
		ref.Name = parts[1]
	}
	verb = words[len(words)-1]
	if ref.Resource == "namespaces" && verb != "create" {
		ref.Namespace = ref.Name // as the URI of each but a create says
	}
	return ref, verb, verb != "" && ref.Resource != ""
}

// pathOf is the path of the request. The name of a created object is not in it.
func pathOf(ref *ObjectReference, verb, resource string) string {
	if verb == "create" && ref.Subresource == "" && ref.Name != "" {
		resource = strings.TrimSuffix(resource, "/"+ref.Name)
	}
	if ref.APIGroup == "" {
		return "/api/" + strings.TrimPrefix(resource, "core/")
	}
	return "/apis/" + resource
}
