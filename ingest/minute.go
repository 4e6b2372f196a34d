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
	seconds, rest := text[n:n+2], text[n+2:len(text)-1]
	if digits(seconds) != 2 || seconds[0] > '5' || len(rest) == 1 || len(rest) > 10 || len(rest) > 0 && rest[0] != '.' {
		return time.Time{}, false
	}
	since := time.Duration(seconds[0]-'0')*10*time.Second + time.Duration(seconds[1]-'0')*time.Second
	unit := time.Second
	for _, c := range rest[min(1, len(rest)):] {
		if c < '0' || c > '9' {
			return time.Time{}, false
		}
		unit /= 10
		since += time.Duration(c-'0') * unit
	}
	return m.begin.Add(since), true
}

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
