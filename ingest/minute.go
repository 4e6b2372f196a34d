package ingest

import "time"

// minute remembers the minute of the time that was read last: most of a log's times are in the minute of the one before.
type minute struct {
	text  [len("2006-01-02T15:04:")]byte
	begin time.Time
}

// parse reads a time in UTC, as RFC 3339 writes it with a fraction of up to nine digits or none.
func (m *minute) parse(text []byte) (t time.Time, ok bool) {
	n := len(m.text)
	if len(text) < n+len("05Z") || text[len(text)-1] != 'Z' {
		return time.Time{}, false
	}
	if string(text[:n]) != string(m.text[:]) && !m.set(text[:n]) {
		return time.Time{}, false
	}
	tens, ones, rest := text[n]-'0', text[n+1]-'0', text[n+2:len(text)-1]
	if tens > 5 || ones > 9 || len(rest) == 1 || len(rest) > 10 || len(rest) > 0 && rest[0] != '.' {
		return time.Time{}, false
	}
	nanos := (int64(tens)*10 + int64(ones)) * 1e9
	if len(rest) > 0 {
		fraction := int64(0)
		for _, c := range rest[1:] {
			if c -= '0'; c > 9 {
				return time.Time{}, false
			}
			fraction = fraction*10 + int64(c)
		}
		nanos += fraction * units[len(rest)-1]
	}
	return m.begin.Add(time.Duration(nanos)), true
}

// units are the nanoseconds of the last digit of a fraction, by how many digits it has.
var units = [...]int64{1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 10, 1}

// set changes the minute.
func (m *minute) set(text []byte) bool {
	const shape = "0000-00-00T00:00:"
	for i, c := range []byte(shape) {
		if c == '0' && digits(text[i:i+1]) == 0 || c != '0' && text[i] != c {
			return false
		}
	}
	begin, err := time.Parse(time.RFC3339, string(text)+"00Z")
	if err != nil {
		return false
	}
	m.begin = begin
	copy(m.text[:], text)
	return true
}

// time reads a time in UTC.
func (s *scanner) time(at int, into *time.Time) int {
	var text span
	end := s.string(at, &text)
	if end == odd || text.escaped {
		return odd
	}
	t, ok := s.minute.parse(s.data[text.from:text.to])
	if !ok {
		return odd
	}
	*into = t
	return end
}
