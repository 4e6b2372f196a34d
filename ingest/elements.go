package ingest

import "bytes"

// Elements takes an entry apart as Decode does. Each Entry that it returns holds one event, in the bytes that it was
// written in, or a Skip; Decode of it gives one of the two, or says why it is no event.
func Elements(e Entry) (elements []Entry) {
	if e.Skip != nil {
		return []Entry{e}
	}
	data := trimSpace(e.Data)
	if len(data) == 0 {
		return nil
	}
	if !bytes.Contains(data[:min(len(data), listHint)], []byte(`"`+listKind+`"`)) {
		if ev, _ := decodeEvent(data, e.At); ev != nil {
			return []Entry{{Data: data, At: e.At}}
		}
	}
	u := newUnwrapper(wholeText(data, e.At), len(data))
	for {
		element, err := u.next()
		if err != nil {
			return elements // io.EOF: memory has no other error
		}
		element.At = e.At
		if element.Skip != nil {
			element.Skip.At = e.At
		}
		elements = append(elements, element)
	}
}
