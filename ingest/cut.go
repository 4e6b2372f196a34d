package ingest

import (
	"bytes"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// runtimeLine is where Docker and containerd split a line, in bytes.
const runtimeLine = 16 << 10

// whyCut tells text whose end is missing from text that is no JSON, where that can be told. In an envelope that is
// whole, it was not the source that ended early.
func whyCut(text []byte, skip *Skip, depth int) *Skip {
	switch {
	case skip.Reason != InvalidJSON:
		return skip
	case endsCut(text):
		return skipped(CutEvent, skip.At, "cut on its way, as its end says: raise the size limit of the shipper")
	case len(text) == runtimeLine:
		return skipped(SplitEvent, skip.At, "ends at %d bytes, where a container runtime splits lines", runtimeLine)
	case depth > 0:
		return skipped(CutEvent, skip.At, "the text in the envelope ends inside a value, after %d bytes", len(text))
	default:
		return skip
	}
}

// endsCut knows the marks that shippers put where they cut: "[Truncated...]" and the like.
func endsCut(text []byte) bool {
	tail := bytes.ToLower(text[max(0, len(text)-40):])
	return bytes.HasSuffix(bytes.TrimRight(tail, " .\u2026\"'])>}\r\n"), []byte("truncated"))
}

// tooBig stands in the audit logs of AKS in place of an object.
const tooBig = `"skipped-too-big-size-object"`

// isPlaceholder tells whether a string stands in place of a body. An object or a patch is never a string.
func isPlaceholder(body []byte) bool { return string(body) == tooBig || endsCut(body) }

// lose says that a body did not reach the log.
func (ev *Event) lose(name string) { ev.Absent = append(ev.Absent, name) }

// restoreDots gives the keys of annotations their dots back, where a shipper has put underscores in their place: what
// stands before the slash is a DNS name, which has none. In the bodies there is no telling what a key was, and Elastic's
// integration, which does this, takes the metadata off them as well. So these are lost.
func (ev *Event) restoreDots() {
	restored := false
	for key, value := range ev.Annotations {
		domain, name, ok := strings.Cut(key, "/")
		if ok && strings.Contains(domain, "_") {
			delete(ev.Annotations, key)
			ev.Annotations[strings.ReplaceAll(domain, "_", ".")+"/"+name] = value
			restored = true
		}
	}
	if !restored {
		return
	}
	if ev.RequestObject != nil {
		ev.RequestObject = nil
		ev.lose(requestObject)
	}
	if ev.ResponseObject != nil {
		ev.ResponseObject = nil
		ev.lose(responseObject)
	}
}

func isLevel(level string) bool {
	switch level {
	case LevelRequestResponse, LevelMetadata, LevelRequest, LevelNone:
		return true
	}
	return false
}

// movedLevel finds the audit level where a shipper has put that of its own record in its place: OpenShift does.
func movedLevel(data []byte, level string) string {
	var moved struct {
		Kubernetes jsontext.Value `json:"k8s_audit_level"`
		OpenShift  jsontext.Value `json:"openshift_audit_level"`
	}
	if jsonv2.Unmarshal(data, &moved, lenient) != nil {
		return level
	}
	for _, v := range []jsontext.Value{moved.Kubernetes, moved.OpenShift} {
		if s := stringOf(v); isLevel(s) {
			return s
		}
	}
	return level
}

// trimLineEnd takes off the end of a line, which Docker and AKS leave on. Other space counts towards the length at
// which lines are split.
func trimLineEnd(text []byte) []byte { return bytes.TrimRight(text, "\r\n") }
