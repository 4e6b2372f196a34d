package jsonobject

import (
	"strings"
	"sync"
)

// scratch is what a decoder needs besides, used again by the next one.
type scratch struct {
	// open holds the elements of the arrays that are not read to their end.
	open []any
	// spans are the objects of at least minPart bytes that were found, in their order; those before next are behind the
	// decoder. Of the text before found all are known.
	spans []span
	next  int
	found int
	stack []int
}

// span is where an object begins and where it ends in the whole text.
type span struct{ begin, end int }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func borrow() *scratch { return scratches.Get().(*scratch) }

func (s *scratch) giveBack() {
	s.spans, s.stack, s.open, s.next = s.spans[:0], s.stack[:0], s.open[:0], 0
	s.found = 0
	scratches.Put(s)
}

// marks are what find looks at; within strings, quote and backslash only.
var marks = [256]bool{'"': true, '{': true, '}': true}

// find finds the objects that may be parts, in the one that begins here. What it finds in text that is no JSON is of no
// account: a part that is met again was JSON before, and all else is decoded.
func (d *decoder[T]) find() {
	text, first := d.text, len(d.spans)
	for i := d.at; i < len(text); i++ {
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
			d.stack = append(d.stack, len(d.spans))
			d.spans = append(d.spans, span{begin: d.base + i})
		case '}':
			n := d.stack[len(d.stack)-1]
			d.stack = d.stack[:len(d.stack)-1]
			if d.base+i+1-d.spans[n].begin < minPart {
				d.spans = d.spans[:n] // What is in it is shorter still.
			} else {
				d.spans[n].end = d.base + i + 1
			}
			if len(d.stack) == 0 {
				d.found = d.base + i + 1
				return
			}
		}
	}
	d.spans, d.stack, d.found = d.spans[:first], d.stack[:0], d.base+len(text) // It has no end.
}

// part reads the part that begins here; nil where none does, or none is known or worth knowing.
func (d *decoder[T]) part() map[string]any {
	at := d.base + d.at
	if at >= d.found {
		if known := beginning(shared, d.text[d.at:]); known != nil {
			d.at += len(known.text)
			return known.value
		}
		d.find()
	}
	for d.next < len(d.spans) && d.spans[d.next].begin < at {
		d.next++
	}
	if d.next == len(d.spans) || d.spans[d.next].begin != at {
		return nil
	}
	end := d.spans[d.next].end - d.base
	if end-d.at > maxPart || end > len(d.text) {
		return nil
	}
	return d.shared(end)
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
