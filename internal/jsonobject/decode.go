// Package jsonobject decodes the JSON of Kubernetes objects.
package jsonobject

import (
	"strconv"
	"strings"

	kjson "k8s.io/apimachinery/pkg/util/json"
)

// Decode decodes a JSON object as Kubernetes decodes objects: whole numbers are int64, the last value of a key counts,
// and what is no Unicode becomes U+FFFD. It returns nil for text that is no JSON object.
//
// Nobody may change what it returns: parts of it may be parts of other objects too (see Once). The strings of a part share
// the memory of one copy of its text, all others have their own: what an object is called must not keep the whole object.
func Decode(text []byte) map[string]any {
	d := &decoder[[]byte]{text: text, scratch: borrow()}
	out := d.whole()
	d.giveBack()
	if !d.odd {
		return out
	}
	out = nil
	if err := kjson.Unmarshal(text, &out); err != nil {
		return nil
	}
	return out
}

// maxDepth is how deep an object may be nested for decoder.
const maxDepth = 500

// decoder decodes text as apiservers and clients mostly write it. Once it has met something odd, which may be JSON or
// not, nothing that it says counts.
type decoder[T string | []byte] struct {
	text T
	// shares: the strings that it makes share the memory of the text.
	shares bool
	at     int
	odd    bool
	depth  int
	// base is where the text begins in the whole one.
	base int
	*scratch
}

func (d *decoder[T]) whole() map[string]any {
	d.space()
	if d.peek() != '{' {
		d.odd = true
		return nil
	}
	out := d.object(true, false)
	d.space()
	d.end()
	return out
}

// end notes what is left of the text, which is nothing if it is one object.
func (d *decoder[T]) end() { d.odd = d.odd || d.at != len(d.text) }

// peek is the next byte; 0 at the end, which no JSON begins with.
func (d *decoder[T]) peek() byte {
	if d.at < len(d.text) {
		return d.text[d.at]
	}
	return 0
}

func (d *decoder[T]) space() {
	for d.at < len(d.text) && (d.text[d.at] == ' ' || d.text[d.at] == '\n' || d.text[d.at] == '\t' || d.text[d.at] == '\r') {
		d.at++
	}
}

// value reads a value. Strings get memory of their own where own says so.
func (d *decoder[T]) value(own, ownBelow bool) any {
	d.space()
	switch c := d.peek(); {
	case c == '"':
		s := d.string()
		if own && d.shares {
			s = strings.Clone(s)
		}
		return s
	case c == '{':
		// What an object is called differs from object to object, and its metadata from write to write.
		if !ownBelow {
			if part := d.part(); part != nil {
				return part
			}
		}
		return d.object(ownBelow, ownBelow)
	case c == '[':
		return d.array(ownBelow)
	case c == 't' && d.word("true"):
		return true
	case c == 'f' && d.word("false"):
		return false
	case c == 'n' && d.word("null"):
		return nil
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	}
	d.odd = true
	return nil
}

func (d *decoder[T]) word(w string) bool {
	end := d.at + len(w)
	if end > len(d.text) || string(d.text[d.at:end]) != w {
		return false
	}
	d.at = end
	return true
}

// kept are the fields in which stands what is kept of an object after the object itself.
func kept(field string) bool { return field == "metadata" || field == "details" }

// object reads an object. Own says whether its strings get memory of their own, ownBelow whether those of its
// ownerReferences do too.
func (d *decoder[T]) object(own, ownBelow bool) map[string]any {
	d.at++
	out := map[string]any{}
	if d.depth++; d.depth > maxDepth {
		d.odd = true
	}
	for first := true; !d.odd; first = false {
		d.space()
		c := d.peek()
		if c == '}' && first {
			break
		}
		if c != '"' {
			d.odd = true
			break
		}
		key := d.string()
		d.space()
		if d.peek() != ':' {
			d.odd = true
			break
		}
		d.at++
		out[key] = d.value(own, kept(key) || ownBelow && key == "ownerReferences")
		d.space()
		if c = d.peek(); c == '}' {
			break
		}
		d.odd = d.odd || c != ','
		d.at++
	}
	d.at++
	d.depth--
	return out
}

func (d *decoder[T]) array(own bool) []any {
	d.at++
	begin := len(d.open)
	if d.depth++; d.depth > maxDepth {
		d.odd = true
	}
	for first := true; !d.odd; first = false {
		d.space()
		if first && d.peek() == ']' {
			break
		}
		d.open = append(d.open, d.value(own, own))
		d.space()
		c := d.peek()
		if c == ']' {
			break
		}
		d.odd = d.odd || c != ','
		d.at++
	}
	d.at++
	d.depth--
	out := make([]any, len(d.open)-begin)
	copy(out, d.open[begin:])
	clear(d.open[begin:])
	d.open = d.open[:begin]
	return out
}

// number reads a number: an int64 where it is written as a whole number and is one.
func (d *decoder[T]) number() any {
	begin := d.at
	if d.peek() == '-' {
		d.at++
	}
	whole := d.digits()
	d.odd = d.odd || whole == 0 || whole > 1 && d.text[d.at-whole] == '0'
	isInt := true
	if d.peek() == '.' {
		d.at++
		isInt = false
		d.odd = d.odd || d.digits() == 0
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		d.at++
		isInt = false
		if c = d.peek(); c == '+' || c == '-' {
			d.at++
		}
		d.odd = d.odd || d.digits() == 0
	}
	text := string(d.text[begin:min(d.at, len(d.text))])
	if isInt {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	d.odd = d.odd || err != nil
	return f
}

func (d *decoder[T]) digits() int {
	begin := d.at
	for d.at < len(d.text) && d.text[d.at] >= '0' && d.text[d.at] <= '9' {
		d.at++
	}
	return d.at - begin
}
