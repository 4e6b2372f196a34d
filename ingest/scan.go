package ingest

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

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
	seen := 0
	s.object(func(key []byte) {
		bit := 0
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
		s.odd = s.odd || bit == 0 || seen&bit != 0
		seen |= bit
	})
}

func (s *scanner) user(u *UserInfo) {
	seen := 0
	s.object(func(key []byte) {
		bit := 0
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
		s.odd = s.odd || bit == 0 || seen&bit != 0
		seen |= bit
	})
}

// objectRef clones what may be kept for long: it must not keep the other strings.
func (s *scanner) objectRef(ref *ObjectReference) {
	seen := 0
	s.object(func(key []byte) {
		bit := 0
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
		s.odd = s.odd || bit == 0 || seen&bit != 0
		seen |= bit
	})
}

func (s *scanner) status(status *Status) {
	seen := 0
	s.object(func(key []byte) {
		bit := 0
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
		s.odd = s.odd || bit == 0 || seen&bit != 0
		seen |= bit
	})
}

// ignore passes over a small value that nobody reads. The strict decoder refuses it where a key comes twice, or where a
// string is no Unicode: so that is odd.
func (s *scanner) ignore(depth int) {
	s.space()
	switch {
	case s.at == len(s.data) || depth > 4:
		s.odd = true
	case s.data[s.at] == '"':
		s.string()
	case s.data[s.at] == '[':
		s.elements(func() { s.ignore(depth + 1) })
	case s.data[s.at] == '{':
		s.fields(func() { s.ignore(depth + 1) })
	default:
		n := passLiteral(s.data[s.at:])
		s.at += n
		s.odd = s.odd || n == 0
	}
}

func (s *scanner) extra() map[string][]string {
	if s.outline {
		s.fields(func() { s.list() })
		return nil
	}
	out := map[string][]string{}
	s.object(func(key []byte) {
		name := s.keep(key)
		_, twice := out[name]
		s.odd = s.odd || twice
		out[name] = s.list()
	})
	return out
}

// fields reads a small object whose keys nobody wants.
func (s *scanner) fields(value func()) {
	var keys [12][]byte
	n := 0
	s.object(func(key []byte) {
		for _, other := range keys[:n] {
			s.odd = s.odd || bytes.Equal(key, other)
		}
		if n == len(keys) {
			s.odd = true
			return
		}
		keys[n] = key
		n++
		value()
	})
}

// texts reads an object of strings.
func (s *scanner) texts() map[string]string {
	if s.outline {
		s.fields(func() { s.string() })
		return nil
	}
	out := map[string]string{}
	s.object(func(key []byte) {
		name := s.keep(key)
		_, twice := out[name]
		s.odd = s.odd || twice
		out[name] = s.string()
	})
	return out
}

func (s *scanner) list() []string {
	if s.outline {
		s.elements(func() { s.string() })
		return nil
	}
	out := make([]string, 0, 3)
	s.elements(func() { out = append(out, s.string()) })
	return out
}

// body takes the text of a body, whatever is in it; none for an outline.
func (s *scanner) body() []byte {
	s.space()
	begin := s.at
	n, ok := passValue(s.data[begin:])
	if !ok {
		s.odd = true
		return nil
	}
	if s.at = begin + n; s.outline {
		return nil
	}
	return bytes.Clone(s.data[begin:s.at])
}

// code reads a status code.
func (s *scanner) code() int32 {
	s.space()
	begin, n := s.at, int32(0)
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' && s.at < begin+3 {
		n = 10*n + int32(s.data[s.at]-'0')
		s.at++
	}
	s.odd = s.odd || s.at != begin+3 || s.data[begin] == '0'
	return n
}

// time reads a time in UTC.
func (s *scanner) time() (t time.Time) {
	raw, plain := s.text()
	if !plain || !isUTC(raw) || t.UnmarshalText(raw) != nil {
		s.odd = true
	}
	return t
}

// isUTC says whether text has the shape of 2006-01-02T15:04:05.999999Z, the fraction of up to nine digits or none.
func isUTC(text []byte) bool {
	const shape = "0000-00-00T00:00:00"
	if len(text) <= len(shape) || text[len(text)-1] != 'Z' {
		return false
	}
	for i, c := range []byte(shape) {
		if c == '0' && digits(text[i:i+1]) == 0 || c != '0' && text[i] != c {
			return false
		}
	}
	fraction := text[len(shape) : len(text)-1]
	return len(fraction) == 0 || fraction[0] == '.' && len(fraction) > 1 && len(fraction) <= 10 && digits(fraction[1:]) == len(fraction)-1
}

// own reads a string that may be kept for long, or that an outline has: it does not share memory with the others.
func (s *scanner) own() string {
	raw, plain := s.text()
	if s.odd || !plain {
		return s.unquoted(raw)
	}
	return string(raw)
}

// string reads a string; empty for an outline.
func (s *scanner) string() string {
	raw, plain := s.text()
	if s.odd || s.outline && plain {
		return ""
	}
	if plain {
		return s.keep(raw)
	}
	return s.unquoted(raw)
}

// unquoted is the string whose text, with escapes, was read last.
func (s *scanner) unquoted(raw []byte) string {
	if s.odd {
		return ""
	}
	quoted := s.data[s.at-len(raw)-2 : s.at]
	out, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		s.odd = true
	}
	return string(out)
}

// word reads a string that is mostly one of a few.
func (s *scanner) word() string {
	raw, plain := s.text()
	if !plain || s.odd {
		s.odd = true
		return ""
	}
	switch string(raw) {
	case "":
		return ""
	case eventKind:
		return eventKind
	case supportedVersion:
		return supportedVersion
	case LevelMetadata:
		return LevelMetadata
	case LevelRequest:
		return LevelRequest
	case LevelRequestResponse:
		return LevelRequestResponse
	case StageResponseComplete:
		return StageResponseComplete
	case StageResponseStarted:
		return StageResponseStarted
	case StageRequestReceived:
		return StageRequestReceived
	case StagePanic:
		return StagePanic
	case "get":
		return "get"
	case "list":
		return "list"
	case "watch":
		return "watch"
	case "create":
		return "create"
	case "update":
		return "update"
	case "patch":
		return "patch"
	case "delete":
		return "delete"
	case "v1":
		return "v1"
	case "status":
		return "status"
	}
	return string(raw)
}

// keep makes a string of text that stands for itself.
func (s *scanner) keep(text []byte) string {
	if s.strings.Cap()-s.strings.Len() < len(text) {
		s.strings = strings.Builder{} // The strings that were made keep the old one.
		s.strings.Grow(max(512, len(text)))
	}
	begin := s.strings.Len()
	s.strings.Write(text)
	return s.strings.String()[begin:]
}

// text passes over a string and returns what is between its quotes. It is plain where that stands for itself.
func (s *scanner) text() (raw []byte, plain bool) {
	s.space()
	n, escaped, ascii, ok := passString(s.data[s.at:])
	if !ok {
		s.odd = true
		return nil, false
	}
	raw = s.data[s.at+1 : s.at+n-1]
	s.at += n
	s.odd = s.odd || !ascii && !utf8.Valid(raw)
	return raw, !escaped
}

// object reads an object, calling value at each value with its key, which is plain.
func (s *scanner) object(value func(key []byte)) {
	if !s.next('{') {
		return
	}
	for first := true; !s.odd; first = false {
		s.space()
		switch {
		case s.at == len(s.data):
			s.odd = true
		case s.data[s.at] == '}':
			s.at++
			return
		case !first && !s.next(','):
		default:
			key, plain := s.text()
			if !plain || s.odd || !s.next(':') {
				s.odd = true
				return
			}
			value(key)
			s.space()
			s.odd = s.odd || s.at == len(s.data) || s.data[s.at] != ',' && s.data[s.at] != '}'
		}
	}
}

// elements reads an array, calling value at each element.
func (s *scanner) elements(value func()) {
	if !s.next('[') {
		return
	}
	for first := true; !s.odd; first = false {
		s.space()
		switch {
		case s.at == len(s.data):
			s.odd = true
		case s.data[s.at] == ']':
			s.at++
			return
		case !first && !s.next(','):
		default:
			value()
			s.space()
			s.odd = s.odd || s.at == len(s.data) || s.data[s.at] != ',' && s.data[s.at] != ']'
		}
	}
}

// next passes over one byte, if it is the next one.
func (s *scanner) next(c byte) bool {
	if s.at < len(s.data) && s.data[s.at] == c && !s.odd {
		s.at++
		return true
	}
	s.space()
	if s.odd || s.at == len(s.data) || s.data[s.at] != c {
		s.odd = true
		return false
	}
	s.at++
	return true
}

func (s *scanner) space() {
	if s.at < len(s.data) && s.data[s.at] > ' ' {
		return
	}
	s.spaces()
}

func (s *scanner) spaces() {
	for s.at < len(s.data) && isSpace(s.data[s.at]) {
		s.at++
	}
}
