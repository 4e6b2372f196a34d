package jsonobject

import (
	"strings"
	"sync"
)

// scratch is what a decoder needs besides, used again by the next one.
type scratch struct {
	// open holds the elements of the arrays that are not read to their end.
	open []any
	// spans are the objects of at least minPart bytes, in their order; those before next are behind the decoder.
	spans []span
	next  int
	stack []int
}

// span is where an object begins and where it ends in the whole text.
type span struct{ begin, end int }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func borrow() *scratch { return scratches.Get().(*scratch) }

func (s *scratch) giveBack() {
	s.spans, s.stack, s.open, s.next = s.spans[:0], s.stack[:0], s.open[:0], 0
	scratches.Put(s)
}

// What find looks at; within strings, quote and backslash only.
var marks = [256]bool{'"': true, '{': true, '}': true}

// find finds the objects that may be parts. What it finds in text that is no JSON is of no account: a part that is met
// again was JSON before, and all else is decoded.
func (s *scratch) find(text []byte) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !marks[c] {
			continue
		}
		switch c {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{':
			s.stack = append(s.stack, len(s.spans))
			s.spans = append(s.spans, span{begin: i})
		case '}':
			if len(s.stack) == 0 {
				return
			}
			n := s.stack[len(s.stack)-1]
			s.stack = s.stack[:len(s.stack)-1]
			if i+1-s.spans[n].begin < minPart {
				s.spans = s.spans[:n] // What is in it is shorter still.
			} else {
				s.spans[n].end = i + 1
			}
		}
	}
}

// part says where the part ends that begins here; 0 where none does.
func (d *decoder[T]) part() (end int) {
	at := d.base + d.at
	for d.next < len(d.spans) && d.spans[d.next].begin < at {
		d.next++
	}
	if d.next == len(d.spans) || d.spans[d.next].begin != at {
		return 0
	}
	end = d.spans[d.next].end - d.base
	if end-d.at > maxPart || end > len(d.text) {
		return 0
	}
	return max(end, 0)
}

// shared is the object that begins here and ends there. It is decoded only where it was not met lately, and then from a
// copy of its own, so that it does not keep what it was a part of.
func (d *decoder[T]) shared(end int) map[string]any {
	text := d.text[d.at:end]
	known, hash := find(shared, text)
	if known != nil {
		d.at = end
		return known.value
	}
	inner := decoder[string]{text: strings.Clone(string(text)), shares: true, base: d.base + d.at, depth: d.depth, scratch: d.scratch}
	out := inner.object(false, false)
	inner.end()
	d.odd = d.odd || inner.odd
	d.at = end
	if !d.odd {
		shared.put(hash, &part{text: inner.text, value: out})
	}
	return out
}
