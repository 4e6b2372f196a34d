package ingest

// recent are the texts of a few arrays and objects that were gone through not long ago. The users, the groups and the
// annotations of a log are mostly the same few, and the same text need not be checked again.
type recent struct {
	texts [4][]byte
	// next is where the next is put.
	next int
}

// longestRecent is how long a text may be to be worth remembering.
const longestRecent = 512

// length is that of a known text with which data begins; 0 where there is none. An array or an object that begins with
// another is that other.
func (r *recent) length(data []byte) int {
	for _, text := range r.texts {
		if n := len(text); n > 0 && n <= len(data) && string(data[:n]) == string(text) {
			return n
		}
	}
	return 0
}

// add remembers a text.
func (r *recent) add(text []byte) {
	if len(text) > longestRecent {
		return
	}
	r.texts[r.next] = append(r.texts[r.next][:0], text...)
	r.next = (r.next + 1) % len(r.texts)
}
