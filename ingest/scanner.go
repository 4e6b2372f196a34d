package ingest

import "math"

// odd is in place of where a value ends that the scanner does not take: it may be none, or one that only the strict
// decoder can judge.
const odd = -1

// scanner goes through the text of an event that is written as apiservers write it, in whatever order of keys. It checks
// all of it, and notes where the fields stand. Its functions take the place at which something begins, which may be
// behind space, and return that at which it ends, or odd.
//
// A scanner may be used for one text after another: it guesses that keys follow each other as they did before.
type scanner struct {
	data   []byte
	layout layout
	// who is the user that is being read.
	who *userLayout
	// guessed is false until the guesses are set.
	guessed bool
	guess   struct{ event, user, ref, status [20]uint8 }
	minute  minute
	// recent are the sourceIPs, the groups, the extra and the annotations.
	recent struct{ sources, groups, extra, annotations recent }
}

// scan goes through a text. What it says of a text that is odd does not count.
func (s *scanner) scan(data []byte) (ok bool) {
	s.data, s.layout = data, layout{}
	if !s.guessed {
		s.guessed = true
		for i := range s.guess.event {
			next := uint8(i)
			s.guess.event[i], s.guess.user[i], s.guess.ref[i], s.guess.status[i] = next, next, next, next
		}
	}
	return len(data) <= math.MaxInt32 && s.known(0, &eventKeys, &s.guess.event, eventField) == len(data)
}

// keys are those that an object may have, as they are written: in quotes, with the colon.
type keys []string

func newKeys(names ...string) (k keys) {
	for _, name := range names {
		k = append(k, `"`+name+`":`)
	}
	return k
}

// known reads an object whose keys are all known. The value of each is read by a function that is told which it is. An
// unknown key, and one that is there twice, is odd.
//
// guess[0] is the key that is expected first, guess[1+i] the one that is expected behind the i-th.
func (s *scanner) known(at int, of *keys, guess *[20]uint8, value func(s *scanner, key, at int) int) int {
	at = s.next(at, '{')
	if at == odd {
		return odd
	}
	if end := s.next(at, '}'); end != odd {
		return end
	}
	expected, seen := &guess[0], uint32(0)
	for {
		key := int(*expected)
		if quoted := key < len(*of); quoted && s.begins(at, (*of)[key]) {
			at += len((*of)[key])
		} else if key, at = s.key(at, *of); at == odd {
			return odd
		}
		if seen&(1<<key) != 0 {
			return odd
		}
		seen |= 1 << key
		*expected = uint8(key)
		expected = &guess[1+key]
		if at = value(s, key, at); at == odd {
			return odd
		}
		if at < len(s.data) && s.data[at] == ',' {
			at++
			continue
		}
		more := s.next(at, ',')
		if more == odd {
			return s.next(at, '}')
		}
		at = more
	}
}

// begins says whether a text stands at a place.
func (s *scanner) begins(at int, text string) bool {
	return len(s.data)-at >= len(text) && string(s.data[at:at+len(text)]) == text
}

// key reads a key with its colon, and says which of some it is.
func (s *scanner) key(at int, of keys) (key, end int) {
	name, end := s.name(at)
	if end == odd {
		return 0, odd
	}
	for key, quoted := range of {
		if quoted[1:len(quoted)-2] == string(name) {
			return key, end
		}
	}
	return 0, odd
}

// name reads a key with its colon. One with escapes is odd.
func (s *scanner) name(at int) (name []byte, end int) {
	at = s.space(at)
	end, escaped := passText(s.data, at)
	if end == odd || escaped {
		return nil, odd
	}
	return s.data[at+1 : end-1], s.next(end, ':')
}

// next passes over one byte.
func (s *scanner) next(at int, c byte) int {
	if at = s.space(at); at < len(s.data) && s.data[at] == c {
		return at + 1
	}
	return odd
}

// space passes over white space.
func (s *scanner) space(at int) int {
	for at < len(s.data) && s.data[at] <= ' ' && isSpace(s.data[at]) {
		at++
	}
	return at
}

// string reads a string.
func (s *scanner) string(at int, into *span) int {
	at = s.space(at)
	end, escaped := passText(s.data, at)
	if end != odd {
		*into = span{from: int32(at + 1), to: int32(end - 1), escaped: escaped}
	}
	return end
}

// word reads a string that has no escapes where an apiserver writes it.
func (s *scanner) word(at int, into *span) int {
	end := s.string(at, into)
	if into.escaped {
		return odd
	}
	return end
}

// whole reads a value, and notes where it stands.
func (s *scanner) whole(at int, into *span, value func(s *scanner, at int) int) int {
	at = s.space(at)
	end := value(s, at)
	if end != odd {
		*into = span{from: int32(at), to: int32(end)}
	}
	return end
}

func (s *scanner) user(at int, who *userLayout) int {
	s.who = who
	return s.whole(at, &who.whole, func(s *scanner, at int) int {
		return s.known(at, &userKeys, &s.guess.user, userField)
	})
}

func (s *scanner) objectRef(at int) int { return s.known(at, &refKeys, &s.guess.ref, refField) }

func (s *scanner) status(at int) int { return s.known(at, &statusKeys, &s.guess.status, statusField) }

// again reads an array or an object that is mostly one of a few.
func (s *scanner) again(at int, into *span, known *recent, value func(s *scanner, at int) int) int {
	at = s.space(at)
	n := known.length(s.data[at:])
	if n == 0 {
		end := value(s, at)
		if end == odd {
			return odd
		}
		n = end - at
		known.add(s.data[at:end])
	}
	*into = span{from: int32(at), to: int32(at + n)}
	return at + n
}

// body passes over a body, whatever is in it.
func (s *scanner) body(at int) int {
	n, ok := passValue(s.data[at:])
	if !ok {
		return odd
	}
	return at + n
}

// code reads a status code.
func (s *scanner) code(at int, into *int32) int {
	at = s.space(at)
	if len(s.data)-at < 3 || digits(s.data[at:at+3]) != 3 || s.data[at] == '0' {
		return odd
	}
	*into = int32(s.data[at]-'0')*100 + int32(s.data[at+1]-'0')*10 + int32(s.data[at+2]-'0')
	return at + 3
}
