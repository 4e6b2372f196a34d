package ingest

// deepIgnored is how deep a value that nobody reads may be nested.
const deepIgnored = 4

// ignored passes over a small value that nobody reads. The strict decoder refuses it where a key comes twice, or where a
// string is no Unicode: so that is odd.
func (s *scanner) ignored(at, depth int) int {
	at = s.space(at)
	switch {
	case at == len(s.data) || depth > deepIgnored:
		return odd
	case s.data[at] == '"':
		return s.text(at, depth)
	case s.data[at] == '[':
		return s.elements(at, depth+1, (*scanner).ignored)
	case s.data[at] == '{':
		return s.fields(at, depth+1, (*scanner).ignored)
	}
	if n := passLiteral(s.data[at:]); n > 0 {
		return at + n
	}
	return odd
}

// text passes over a string.
func (s *scanner) text(at, _ int) int {
	end, _ := passText(s.data, s.space(at))
	return end
}

// list passes over an array of strings.
func (s *scanner) list(at, _ int) int { return s.elements(at, 0, (*scanner).text) }

// strings, texts and lists pass over an array of strings, an object of strings, and an object of arrays of strings.
func (s *scanner) strings(at int) int { return s.elements(at, 0, (*scanner).text) }
func (s *scanner) texts(at int) int   { return s.fields(at, 0, (*scanner).text) }
func (s *scanner) lists(at int) int   { return s.fields(at, 0, (*scanner).list) }

// elements passes over an array whose elements are passed over by a function.
func (s *scanner) elements(at, depth int, element func(s *scanner, at, depth int) int) int {
	at = s.next(at, '[')
	if at == odd {
		return odd
	}
	if end := s.next(at, ']'); end != odd {
		return end
	}
	for {
		if at = element(s, at, depth); at == odd {
			return odd
		}
		more := s.next(at, ',')
		if more == odd {
			return s.next(at, ']')
		}
		at = more
	}
}

// fields passes over an object whose values are passed over by a function. A key that is there twice is odd.
func (s *scanner) fields(at, depth int, value func(s *scanner, at, depth int) int) int {
	at = s.next(at, '{')
	if at == odd {
		return odd
	}
	if end := s.next(at, '}'); end != odd {
		return end
	}
	var seen names
	for {
		name, end := s.name(at)
		if end == odd || seen.again(name) {
			return odd
		}
		if at = value(s, end, depth); at == odd {
			return odd
		}
		more := s.next(at, ',')
		if more == odd {
			return s.next(at, '}')
		}
		at = more
	}
}

// names are the keys of an object so far.
type names struct {
	few  [8][]byte
	n    int
	many map[string]bool
}

// again says whether a name is there already, and adds it.
func (k *names) again(name []byte) bool {
	for _, other := range k.few[:k.n] {
		if string(other) == string(name) {
			return true
		}
	}
	if k.n < len(k.few) {
		k.few[k.n] = name
		k.n++
		return false
	}
	if k.many == nil {
		k.many = map[string]bool{}
	}
	again := k.many[string(name)]
	k.many[string(name)] = true
	return again
}
