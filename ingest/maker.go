package ingest

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maker makes the strings of an event whose text was scanned. Its values are known to be what they are read as.
type maker struct {
	data []byte
	// odd: a string turned out to be no Unicode.
	odd bool
	// buffer holds the text of the event's strings, so that they need no memory of their own each.
	buffer strings.Builder
}

func (m *maker) user(u *userLayout) UserInfo {
	return UserInfo{Username: m.string(u.username), UID: m.string(u.uid), Groups: m.list(u.groups), Extra: m.lists(u.extra)}
}

// objectRef makes strings that may be kept for long: they must not keep the others.
func (m *maker) objectRef(ref *refLayout) *ObjectReference {
	return &ObjectReference{
		Resource: m.own(ref.resource), Namespace: m.own(ref.namespace), Name: m.own(ref.name), UID: m.own(ref.uid),
		APIGroup: m.own(ref.apiGroup), APIVersion: m.word(ref.apiVersion), ResourceVersion: m.own(ref.resourceVersion),
		Subresource: m.word(ref.subresource),
	}
}

// list makes an array of strings; nil where there is none.
func (m *maker) list(whole span) []string {
	if !whole.there() {
		return nil
	}
	out := make([]string, 0, 3)
	for at := int(whole.from) + 1; at < int(whole.to); {
		var text string
		var ok bool
		if text, at, ok = m.nextString(at); ok {
			out = append(out, text)
		}
	}
	return out
}

// texts makes an object of strings; nil where there is none.
func (m *maker) texts(whole span) map[string]string {
	if !whole.there() {
		return nil
	}
	out := map[string]string{}
	for at := int(whole.from) + 1; at < int(whole.to); {
		key, next, ok := m.nextString(at)
		if at = next; ok {
			out[key], at, _ = m.nextString(at)
		}
	}
	return out
}

// lists makes an object of arrays of strings; nil where there is none.
func (m *maker) lists(whole span) map[string][]string {
	if !whole.there() {
		return nil
	}
	out := map[string][]string{}
	for at := int(whole.from) + 1; at < int(whole.to); {
		key, next, ok := m.nextString(at)
		if at = next; !ok {
			continue
		}
		array := span{from: int32(at)}
		for m.data[array.from] != '[' {
			array.from++
		}
		array.to = int32((&scanner{data: m.data}).strings(int(array.from)))
		out[key] = m.list(array)
		at = int(array.to)
	}
	return out
}

// nextString makes the string that begins at a place or behind what stands between two strings. It is not ok where a
// bracket closes first; next is behind it.
func (m *maker) nextString(at int) (text string, next int, ok bool) {
	for ; m.data[at] != '"'; at++ {
		if m.data[at] == ']' || m.data[at] == '}' {
			return "", at + 1, false
		}
	}
	end, escaped := passText(m.data, at)
	return m.string(span{from: int32(at + 1), to: int32(end - 1), escaped: escaped}), end, true
}

// own makes a string that may be kept for long: it does not share memory with the others.
func (m *maker) own(of span) string {
	if of.escaped {
		return m.unquoted(of)
	}
	return string(m.data[of.from:of.to])
}

// string makes a string.
func (m *maker) string(of span) string {
	if of.escaped {
		return m.unquoted(of)
	}
	text := m.data[of.from:of.to]
	if m.buffer.Cap()-m.buffer.Len() < len(text) {
		m.buffer = strings.Builder{} // The strings that were made keep the old one.
		m.buffer.Grow(max(512, len(text)))
	}
	begin := m.buffer.Len()
	m.buffer.Write(text)
	return m.buffer.String()[begin:]
}

func (m *maker) unquoted(of span) string {
	out, err := jsontext.AppendUnquote(nil, m.data[of.from-1:of.to+1])
	if err != nil {
		m.odd = true
	}
	return string(out)
}

// words are the strings that fields of a few values mostly have.
var words = func() map[string]string {
	out := map[string]string{}
	for _, word := range []string{
		"", eventKind, supportedVersion, LevelMetadata, LevelRequest, LevelRequestResponse,
		StageResponseComplete, StageResponseStarted, StageRequestReceived, StagePanic,
		"get", "list", "watch", "create", "update", "patch", "delete", "v1", "status",
	} {
		out[word] = word
	}
	return out
}()

// word makes a string that is mostly one of a few.
func (m *maker) word(of span) string {
	text := m.data[of.from:of.to]
	if word, ok := words[string(text)]; ok {
		return word
	}
	return string(text)
}
