package ingest

import "bytes"

// nesting follows the brackets and strings of JSON that arrives in pieces. It checks nothing: what it delimits is
// decoded later.
type nesting struct {
	depth    int
	deepest  int
	inString bool
	escaped  bool

	// members makes it stop at an array that is the value of a list key in the outermost object.
	members bool
	key     []byte // of the outermost object, as far as it was read; longer ones are cut
	colon   bool   // the key is complete, and its value begins
}

// itemsKey is what an EventList calls its items.
const itemsKey = "items"

// isListKey knows the names under which envelopes hold their events: an EventList; Event Hubs and Firehose; Lambda;
// subscriptions of CloudWatch Logs; what the AWS CLI prints.
func isListKey(key []byte) bool {
	switch string(key) {
	case itemsKey, "records", "Records", "logEvents", "events":
		return true
	}
	return false
}

// longestKey is how long a list key may be.
const longestKey = len("logEvents")

// structuralByte marks the bytes that mean something outside of strings, stringByte those that do within.
var structuralByte, stringByte = marked(`"{}[]:,`), marked("\"\\\n")

func marked(chars string) (table [256]bool) {
	for _, c := range []byte(chars) {
		table[c] = true
	}
	return table
}

// follow reads data and stops after the byte that closes the outermost value, or before the array of items. It returns
// how far it got.
func (s *nesting) follow(data []byte) (n int, closed, items bool) {
	for i := 0; i < len(data); i++ {
		if s.inString {
			if i += s.passString(data[i:]); i == len(data) {
				break
			}
		}
		for i < len(data) && !structuralByte[data[i]] {
			i++
		}
		if i == len(data) {
			break
		}
		switch c := data[i]; c {
		case '"':
			s.inString = true
			s.key = s.key[:0]
			s.colon = false
		case ':':
			s.colon = true
		case ',':
			s.colon = false
		case '{', '[':
			if s.members && c == '[' && s.depth == 1 && s.colon && isListKey(s.key) {
				return i, false, true
			}
			s.depth++
			s.deepest = max(s.deepest, s.depth)
			s.colon = false
		case '}', ']':
			s.depth--
			s.colon = false
			if s.depth <= 0 {
				return i + 1, true, false
			}
		}
	}
	return len(data), false, false
}

// passString moves on in a string. A line end, which no JSON string holds, ends it too: so a quote that is missing
// costs no more than its line.
func (s *nesting) passString(data []byte) int {
	i := 0
	if s.escaped && len(data) > 0 && data[0] != '\n' {
		s.escaped = false
		i = 1
	}
	for ; i < len(data); i++ {
		if !stringByte[data[i]] {
			continue
		}
		if data[i] != '\\' {
			s.inString, s.escaped = false, false
			s.remember(data[:i])
			return i + 1
		}
		if i++; i == len(data) {
			s.escaped = true
		} else if data[i] == '\n' {
			i-- // a line end is not escaped
		}
	}
	s.remember(data)
	return len(data)
}

// remember keeps a string of the outermost object, which may be a key.
func (s *nesting) remember(part []byte) {
	if !s.members || s.depth != 1 {
		return
	}
	if s.key == nil {
		s.key = make([]byte, 0, longestKey+1)
	}
	room := cap(s.key) - len(s.key)
	s.key = append(s.key, part[:min(len(part), room)]...)
}

// isItems tells whether the array that it stopped at is that of an EventList.
func (s *nesting) isItems() bool { return string(s.key) == itemsKey }

// whole makes it stop at the end alone.
func (s *nesting) whole() { s.members = false }

// deepest is how deep data is nested.
func deepest(data []byte) int {
	var s nesting
	for len(data) > 0 {
		n, _, _ := s.follow(data)
		data = data[n:]
	}
	return s.deepest
}

// scalar follows text that is neither object nor array: a JSON scalar, or no JSON at all.
type scalar struct {
	nesting
	begun bool
}

// follow reads data and stops after a string, else where the line ends, or a list may go on. The first byte is always
// part of the value, be it a bracket that closes nothing.
func (s *scalar) follow(data []byte) (n int, closed, items bool) {
	if !s.begun && len(data) > 0 {
		s.begun = true
		s.inString = data[0] == '"'
		n = 1
	}
	if s.inString {
		n += s.passString(data[n:])
		return n, !s.inString, false
	}
	if i := bytes.IndexAny(data[n:], ",]}[{\"\n"); i >= 0 {
		return n + i, true, false
	}
	return len(data), false, false
}
