package jsonobject

import (
	"strconv"
	"unicode/utf8"
)

// string reads a string.
func (d *decoder[T]) string() string {
	begin := d.at + 1
	ascii := true
	for i := begin; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == '"':
			d.at = i + 1
			s := d.make(d.text[begin:i])
			d.odd = d.odd || !ascii && !utf8.ValidString(s)
			return s
		case c == '\\':
			return d.escaped(begin, i)
		case c < 0x20:
			d.odd = true
			return ""
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	d.odd = true
	return ""
}

// usual are the names of fields that nearly every object has. They are made once.
var usual = func() map[string]string {
	names := map[string]string{}
	for _, name := range []string{
		"apiVersion", "kind", "metadata", "spec", "status", "data", "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
		"labels", "annotations", "ownerReferences", "finalizers", "managedFields", "manager", "operation", "time", "fieldsType", "fieldsV1", "subresource",
		"controller", "blockOwnerDeletion", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName", "v1", "FieldsV1", "Update", "Apply",
	} {
		names[name] = name
	}
	return names
}()

// make makes a string of a part of the text.
func (d *decoder[T]) make(text T) string {
	if d.shares {
		return string(text)
	}
	if name, ok := usual[string(text)]; ok {
		return name
	}
	return string(text)
}

// escaped reads a string that begins at begin, and has its first escape at i.
func (d *decoder[T]) escaped(begin, i int) string {
	out := make([]byte, 0, 2*(i-begin)+32)
	out = append(out, d.text[begin:i]...)
	for i < len(d.text) {
		c := d.text[i]
		switch {
		case c == '"':
			d.at = i + 1
			d.odd = d.odd || !utf8.Valid(out)
			return string(out)
		case c < 0x20:
			d.odd = true
			return ""
		case c != '\\':
			out = append(out, c)
			i++
			continue
		}
		r, n := unescape(d.text[i:])
		if n == 0 {
			d.odd = true
			return ""
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	d.odd = true
	return ""
}

// unescape reads an escape; n is 0 for one that is none, or that is half of a pair.
func unescape[T string | []byte](s T) (r rune, n int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		if len(s) < 6 {
			return 0, 0
		}
		u, err := strconv.ParseUint(string(s[2:6]), 16, 16)
		if err != nil || !utf8.ValidRune(rune(u)) {
			return 0, 0
		}
		return rune(u), 6
	}
	return 0, 0
}
