package ingest

import "time"

// span is where something stands in the text of an event: a string without its quotes, or a value as a whole. The zero
// span is of what is not there.
type span struct {
	from, to int32
	// escaped: the string does not stand for itself.
	escaped bool
}

// there says whether a span is of something; nothing stands before an event's brace.
func (s span) there() bool { return s.to > 0 }

// layout is where the fields of an event stand in its text. No string is made before it is known that somebody wants
// it.
type layout struct {
	kind, apiVersion, level, auditID, stage, verb span

	requestURI, userAgent         span
	user, impersonated            userLayout
	sourceIPs, annotations        span // whole
	ref                           refLayout
	status                        statusLayout
	requestObject, responseObject span // whole

	received, staged time.Time
}

type userLayout struct {
	whole, username, uid span
	groups, extra        span // whole
}

type refLayout struct {
	whole, resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource span
}

type statusLayout struct {
	whole, status, message, reason span
	code                           int32
}

// The keys of an event and of the objects in it whose keys are all known, in the order in which an apiserver writes
// them.
var (
	eventKeys = newKeys("kind", "apiVersion", "level", "auditID", "stage", "requestURI", "verb", "user", "impersonatedUser",
		"sourceIPs", "userAgent", "objectRef", "responseStatus", requestObject, responseObject, "requestReceivedTimestamp",
		"stageTimestamp", "annotations", "authenticationMetadata")
	userKeys   = newKeys("username", "uid", "groups", "extra")
	refKeys    = newKeys("resource", "namespace", "name", "uid", "apiGroup", "apiVersion", "resourceVersion", "subresource")
	statusKeys = newKeys("metadata", "status", "message", "reason", "details", "code")
)

// Where the keys are in eventKeys.
const (
	keyKind = iota
	keyAPIVersion
	keyLevel
	keyAuditID
	keyStage
	keyRequestURI
	keyVerb
	keyUser
	keyImpersonatedUser
	keySourceIPs
	keyUserAgent
	keyObjectRef
	keyResponseStatus
	keyRequestObject
	keyResponseObject
	keyRequestReceivedTimestamp
	keyStageTimestamp
	keyAnnotations
	keyAuthenticationMetadata
)

// eventField reads the value of a key of an event, which begins at a place or behind the space there. It returns where
// the value ends; odd, if it is none that the scanner takes.
func eventField(s *scanner, key, at int) int {
	l := &s.layout
	switch key {
	case keyKind:
		return s.word(at, &l.kind)
	case keyAPIVersion:
		return s.word(at, &l.apiVersion)
	case keyLevel:
		return s.word(at, &l.level)
	case keyAuditID:
		return s.string(at, &l.auditID)
	case keyStage:
		return s.word(at, &l.stage)
	case keyRequestURI:
		return s.string(at, &l.requestURI)
	case keyVerb:
		return s.word(at, &l.verb)
	case keyUser:
		return s.user(at, &l.user)
	case keyImpersonatedUser:
		return s.user(at, &l.impersonated)
	case keySourceIPs:
		return s.again(at, &l.sourceIPs, &s.recent.sources, (*scanner).strings)
	case keyUserAgent:
		return s.string(at, &l.userAgent)
	case keyObjectRef:
		return s.whole(at, &l.ref.whole, (*scanner).objectRef)
	case keyResponseStatus:
		return s.whole(at, &l.status.whole, (*scanner).status)
	case keyRequestObject:
		return s.whole(at, &l.requestObject, (*scanner).body)
	case keyResponseObject:
		return s.whole(at, &l.responseObject, (*scanner).body)
	case keyRequestReceivedTimestamp:
		return s.time(at, &l.received)
	case keyStageTimestamp:
		return s.time(at, &l.staged)
	case keyAnnotations:
		return s.again(at, &l.annotations, &s.recent.annotations, (*scanner).texts)
	case keyAuthenticationMetadata:
		return s.ignored(at, 0)
	}
	return odd
}

func userField(s *scanner, key, at int) int {
	switch u := s.who; key {
	case 0:
		return s.string(at, &u.username)
	case 1:
		return s.string(at, &u.uid)
	case 2:
		return s.again(at, &u.groups, &s.recent.groups, (*scanner).strings)
	default:
		return s.again(at, &u.extra, &s.recent.extra, (*scanner).lists)
	}
}

func refField(s *scanner, key, at int) int {
	ref := &s.layout.ref
	switch key {
	case 0:
		return s.string(at, &ref.resource)
	case 1:
		return s.string(at, &ref.namespace)
	case 2:
		return s.string(at, &ref.name)
	case 3:
		return s.string(at, &ref.uid)
	case 4:
		return s.string(at, &ref.apiGroup)
	case 5:
		return s.word(at, &ref.apiVersion)
	case 6:
		return s.string(at, &ref.resourceVersion)
	default:
		return s.word(at, &ref.subresource)
	}
}

func statusField(s *scanner, key, at int) int {
	status := &s.layout.status
	switch key {
	case 1:
		return s.word(at, &status.status)
	case 2:
		return s.string(at, &status.message)
	case 3:
		return s.word(at, &status.reason)
	case 5:
		return s.code(at, &status.code)
	default:
		return s.ignored(at, 0)
	}
}
