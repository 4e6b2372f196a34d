package ingest

import (
	"bytes"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// record is an object that may be an envelope: the members by which it is recognised. Values are looked into where they
// are needed, so a member of an unexpected type is no error.
type record struct {
	// What an audit event has. An object with one of these is none but an event, though it may be an invalid one.
	APIVersion jsontext.Value `json:"apiVersion"`
	AuditID    jsontext.Value `json:"auditID"`

	ProtoPayload jsontext.Value `json:"protoPayload"` // Cloud Logging
	JSONPayload  jsontext.Value `json:"jsonPayload"`
	TextPayload  jsontext.Value `json:"textPayload"`

	AWSLogs jsontext.Value `json:"awslogs"` // Lambda, from CloudWatch Logs
	Kinesis jsontext.Value `json:"kinesis"` // Lambda, from Kinesis
	Data    jsontext.Value `json:"data"`    // Kinesis, Firehose, Pub/Sub

	Category   jsontext.Value `json:"category"` // Azure Monitor
	Properties jsontext.Value `json:"properties"`

	Log        jsontext.Value `json:"log"` // Docker, Fluentd, Fluent Bit
	Message    jsontext.Value `json:"message"`
	Journal    jsontext.Value `json:"MESSAGE"`
	Structured jsontext.Value `json:"structured"` // OpenShift
	JSON       jsontext.Value `json:"json"`       // Beats
	Kubernetes jsontext.Value `json:"kubernetes"` // Elastic Agent
	Source     jsontext.Value `json:"_source"`    // Elasticsearch
	HEC        jsontext.Value `json:"event"`      // Splunk
}

func readRecord(data []byte) (r record, ok bool) {
	return r, jsonv2.Unmarshal(data, &r, lenient) == nil
}

// isEvent tells whether the record is an audit event, perhaps an invalid one, so that it is not to be taken for an
// envelope.
func (r *record) isEvent() bool {
	return r.AuditID != nil || bytes.HasPrefix(r.APIVersion, []byte(`"`+auditGroup+"/"))
}

// carriers are the members that may hold an event, or an envelope around one: as an object, or as a string. Where
// several do, they hold the same; the first is taken.
func (r *record) carriers() []jsontext.Value {
	return []jsontext.Value{r.Structured, r.JSON, member(r.Kubernetes, "audit"), r.JSONPayload, r.TextPayload, r.Source,
		r.Log, r.Message, r.Journal, r.HEC}
}

// envelope takes a record's envelope off; false where there is none. The skip says why the record is no event.
func (d *decoder) envelope(data []byte, skip Skip, depth int) bool {
	if !mayBeEnvelope(skip.Reason) {
		return false
	}
	switch data[0] {
	case '"':
		text, ok := unquoted(data)
		return ok && d.carried(text, depth)
	case '{':
		r, ok := readRecord(data)
		return ok && !r.isEvent() && d.unwrap(data, &r, depth)
	default:
		return false
	}
}

// mayBeEnvelope tells whether what was skipped for a reason may yet hold an event. What says one thing twice may not:
// one of the two would be lost.
func mayBeEnvelope(reason SkipReason) bool {
	return slices.Contains([]SkipReason{NotAnEvent, InvalidEvent, InvalidUTF8}, reason)
}

func (d *decoder) unwrap(data []byte, r *record, depth int) bool {
	switch {
	case r.ProtoPayload != nil:
		d.auditLog(data)
	case r.AWSLogs.Kind() == '{':
		d.base64(member(r.AWSLogs, "data"), depth)
	case r.Kinesis.Kind() == '{':
		d.base64(member(r.Kinesis, "data"), depth)
	case r.Category.Kind() == '"' && r.Properties != nil:
		d.azure(r, depth)
	case d.control(r.Message):
	default:
		return d.carrier(r, depth) || isBase64Of(r.Data) && d.base64(r.Data, depth)
	}
	return true
}

// carrier decodes the first member that holds an event or an envelope.
func (d *decoder) carrier(r *record, depth int) bool {
	for _, v := range r.carriers() {
		switch v.Kind() {
		case '"':
			if text, ok := unquoted(v); ok && d.carried(text, depth) {
				return true
			}
		case '{':
			if inner, ok := readRecord(v); ok && inner.holds() {
				d.decode(v, depth+1)
				return true
			}
		}
	}
	return false
}

// carried decodes the text of a string, if it is such as may hold an event.
func (d *decoder) carried(text []byte, depth int) bool {
	text = trimLineEnd(text)
	if begin := trimSpace(text); len(begin) == 0 || !startsValue(begin[0]) && !hasPrefix(begin) {
		return false
	}
	d.decode(text, depth+1)
	return true
}

// holds tells whether a record is an event or an envelope. It does not look into what is encoded.
func (r *record) holds() bool {
	if r.isEvent() || r.ProtoPayload != nil || r.AWSLogs != nil || r.Kinesis != nil || isBase64Of(r.Data) {
		return true
	}
	return slices.ContainsFunc(r.carriers(), func(v jsontext.Value) bool {
		text, _ := unquoted(v)
		text = trimSpace(text)
		return v.Kind() == '{' || len(text) > 0 && (startsValue(text[0]) || hasPrefix(text))
	})
}

// control reports what CloudWatch Logs sends to see whether a destination can be reached.
func (d *decoder) control(message jsontext.Value) bool {
	if !bytes.HasPrefix(message, []byte(`"CWL CONTROL MESSAGE`)) {
		return false
	}
	d.skip(*skipped(ControlMessage, d.at, "a test message of CloudWatch Logs"))
	return true
}

// azure takes off what Azure Monitor puts around a line of a log.
func (d *decoder) azure(r *record, depth int) {
	category := stringOf(r.Category)
	if !strings.HasPrefix(category, "kube-audit") {
		d.skip(*skipped(OtherLog, d.at, "a record of the log %q, not kube-audit", shorten(category)))
		return
	}
	properties := r.Properties
	if text, ok := unquoted(properties); ok {
		properties = text
	}
	log := member(properties, "log")
	if text, ok := unquoted(log); ok {
		log = text
	}
	d.decode(log, depth+1)
}

// member returns a member of an object; nil where there is none.
func member(object jsontext.Value, name string) jsontext.Value {
	var members map[string]jsontext.Value
	if object.Kind() != '{' || jsonv2.Unmarshal(object, &members, lenient) != nil {
		return nil
	}
	return members[name]
}

// holdsList tells whether an object holds its events in a list, which is taken apart element by element.
func holdsList(data []byte) bool {
	_, _, items := (&nesting{members: true}).follow(data)
	return items
}
