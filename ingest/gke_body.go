package ingest

import (
	"bytes"
	"encoding/json"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
