package manifest

import (
	"bytes"
	"iter"
)

// document is a stretch of a file between the marks of YAML. Lines count from 1.
type document struct {
	text []byte
	// first is the line that text begins at, line that of its first content.
	first, line int
}

// documents splits a text at its `---` and `...` lines. Documents with nothing in them but comments are left out.
func documents(text []byte) iter.Seq[document] {
	return func(yield func(document) bool) {
		begin, first := 0, 1
		emit := func(end int) bool {
			d := document{text: text[begin:end], first: first}
			blank := blankLines(d.text)
			d.line = first + blank
			return blank < 0 || yield(d)
		}
		for at, line := 0, 1; at < len(text); line++ {
			next := len(text)
			if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
				next = at + i + 1
			}
			if isMark(text[at:next]) {
				if !emit(at) {
					return
				}
				// What follows a mark on its line belongs to the document.
				begin, first = at+len("---"), line
			}
			at = next
		}
		emit(len(text))
	}
}

// isMark says whether a line ends a document. No string or block can hold such a line.
func isMark(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0
}

// blankLines counts the lines before the first content: blank ones, comments and YAML directives. It is -1 where there
// is no content.
func blankLines(text []byte) int {
	for n := 0; len(text) > 0; n++ {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && trimmed[0] != '#' && line[0] != '%' {
			return n
		}
	}
	return -1
}
