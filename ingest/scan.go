package ingest

import "strings"

// scanEvent reads an event that is written as apiservers write it, in whatever order of keys: fast, in one pass. It
// returns nil for anything else, which says nothing of whether it is an event: the strict decoder knows. What it
// returns is what that would.
func scanEvent(data []byte) *Event {
	ev, _ := (&scanner{data: data}).whole()
	return ev
}

// outlineEvent reads an event as scanEvent does, but of one that may be of no interest, by its stage and verb, no more
// than its outline: see DecodeOutlines.
func outlineEvent(data []byte) (ev *Event, outline bool) {
	return (&scanner{data: data, mayOutline: true}).whole()
}

func (s *scanner) whole() (ev *Event, outline bool) {
	ev = &Event{}
	s.event(ev)
	if s.odd || s.at != len(s.data) {
		return nil, false
	}
	return ev, s.outline
}

// scanner goes through the text of an event. Once it has met something odd, nothing that it says counts.
type scanner struct {
	data []byte
	at   int
	odd  bool
	// mayOutline: nobody wants more than the outline of events of certain stages and verbs. Once they are known, outline
	// is set, and the rest of the text is checked only.
	mayOutline, outline bool
	// strings holds the text of the event's strings, so that they need no memory of their own each.
	strings strings.Builder
}

// The keys of an event, as bits: a key that comes twice is odd.
const (
	keyKind = 1 << iota
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

func (s *scanner) event(ev *Event) {
	s.known(func(key []byte) (bit int) {
		switch string(key) {
		case "kind":
			bit, ev.Kind = keyKind, s.word()
		case "apiVersion":
			bit, ev.APIVersion = keyAPIVersion, s.word()
		case "level":
			bit, ev.Level = keyLevel, s.word()
		case "auditID":
			bit, ev.AuditID = keyAuditID, s.own()
		case "stage":
			bit, ev.Stage = keyStage, s.word()
			s.outline = s.outline || s.mayOutline && ev.Stage != StageResponseComplete && ev.Stage != StagePanic
		case "requestURI":
			bit, ev.RequestURI = keyRequestURI, s.string()
		case "verb":
			bit, ev.Verb = keyVerb, s.word()
			s.outline = s.outline || s.mayOutline && (ev.Verb == "get" || ev.Verb == "list" || ev.Verb == "watch")
		case "user":
			bit = keyUser
			s.user(&ev.User)
		case "impersonatedUser":
			bit, ev.ImpersonatedUser = keyImpersonatedUser, &UserInfo{}
			s.user(ev.ImpersonatedUser)
		case "sourceIPs":
			bit, ev.SourceIPs = keySourceIPs, s.list()
		case "userAgent":
			bit, ev.UserAgent = keyUserAgent, s.string()
		case "objectRef":
			bit, ev.ObjectRef = keyObjectRef, &ObjectReference{}
			s.objectRef(ev.ObjectRef)
		case "responseStatus":
			bit, ev.ResponseStatus = keyResponseStatus, &Status{}
			s.status(ev.ResponseStatus)
		case requestObject:
			bit, ev.RequestObject = keyRequestObject, s.body()
		case responseObject:
			bit, ev.ResponseObject = keyResponseObject, s.body()
		case "requestReceivedTimestamp":
			bit, ev.RequestReceivedTimestamp = keyRequestReceivedTimestamp, s.time()
		case "stageTimestamp":
			bit, ev.StageTimestamp = keyStageTimestamp, s.time()
		case "annotations":
			bit, ev.Annotations = keyAnnotations, s.texts()
		case "authenticationMetadata":
			bit = keyAuthenticationMetadata
			s.ignore(0)
		}
		return bit
	})
}

func (s *scanner) user(u *UserInfo) {
	s.known(func(key []byte) (bit int) {
		switch string(key) {
		case "username":
			bit, u.Username = 1, s.string()
		case "uid":
			bit, u.UID = 2, s.string()
		case "groups":
			bit, u.Groups = 4, s.list()
		case "extra":
			bit, u.Extra = 8, s.extra()
		}
		return bit
	})
}

// objectRef clones what may be kept for long: it must not keep the other strings.
func (s *scanner) objectRef(ref *ObjectReference) {
	s.known(func(key []byte) (bit int) {
		switch string(key) {
		case "resource":
			bit, ref.Resource = 1, s.own()
		case "namespace":
			bit, ref.Namespace = 2, s.own()
		case "name":
			bit, ref.Name = 4, s.own()
		case "uid":
			bit, ref.UID = 8, s.own()
		case "apiGroup":
			bit, ref.APIGroup = 16, s.own()
		case "apiVersion":
			bit, ref.APIVersion = 32, s.word()
		case "resourceVersion":
			bit, ref.ResourceVersion = 64, s.own()
		case "subresource":
			bit, ref.Subresource = 128, s.word()
		}
		return bit
	})
}

func (s *scanner) status(status *Status) {
	s.known(func(key []byte) (bit int) {
		switch string(key) {
		case "metadata":
			bit = 1
			s.ignore(0)
		case "details":
			bit = 32
			s.ignore(0)
		case "status":
			bit, status.Status = 2, s.word()
		case "message":
			bit, status.Message = 4, s.string()
		case "reason":
			bit, status.Reason = 8, s.word()
		case "code":
			bit, status.Code = 16, s.code()
		}
		return bit
	})
}
