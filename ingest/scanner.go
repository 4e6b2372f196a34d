package ingest

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

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

// known reads an object of known keys. value reads the value of a key and returns the key's bit, 0 for one that it does
// not know. A key that is not known, or is there twice, is odd.
func (s *scanner) known(value func(key []byte) (bit int)) {
	seen := 0
	s.object(func(key []byte) {
		bit := value(key)
		s.odd = s.odd || bit == 0 || seen&bit != 0
		seen |= bit
	})
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
