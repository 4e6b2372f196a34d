package ingest

import "strings"

const (
	eventKind        = "Event"
	listKind         = "EventList"
	auditGroup       = "audit.k8s.io"
	supportedVersion = auditGroup + "/v1"
)

// typeMeta says what an object claims to be.
type typeMeta struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
}

func (m typeMeta) isEvent() bool { return m == typeMeta{eventKind, supportedVersion} }

func (m typeMeta) isList() bool { return m == typeMeta{listKind, supportedVersion} }

// refuse says why an object is none that is read.
func (m typeMeta) refuse(at Position) *Skip {
	group, _, _ := strings.Cut(m.APIVersion, "/")
	switch {
	case m == typeMeta{}:
		return skipped(NotAnEvent, at, "an object without kind, apiVersion and stage")
	case group == auditGroup && (m.Kind == eventKind || m.Kind == listKind):
		return skipped(UnsupportedVersion, at, "%s of %q: only %s is read", m.Kind, shorten(m.APIVersion), supportedVersion)
	default:
		return skipped(NotAnEvent, at, "kind %q, apiVersion %q", shorten(m.Kind), shorten(m.APIVersion))
	}
}
