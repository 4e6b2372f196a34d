package report

import (
	"fmt"
	"io"
	"strings"
)

// Outline is text in indented lines, set 100 columns wide. What it is given may come from the log: it is made fit for a
// terminal.
type Outline struct{ out strings.Builder }

// indent is how far one level of an Outline is set in.
const indent = 2

// Break leaves a line empty.
func (o *Outline) Break() { o.out.WriteString("\n") }

// Line writes a paragraph; its second line and those after are set in once more.
func (o *Outline) Line(level int, format string, args ...any) {
	margin := strings.Repeat(" ", indent*level)
	for i, line := range set(clean(fmt.Sprintf(format, args...)), lineWidth-len(margin)-indent) {
		if i == 1 {
			margin += strings.Repeat(" ", indent)
		}
		o.line(margin + line)
	}
}

// Item writes a paragraph beside a label, which takes width columns. An empty text writes nothing.
func (o *Outline) Item(level, width int, label, text string) {
	if text = clean(text); text == "" {
		return
	}
	margin := strings.Repeat(" ", indent*level)
	label = clean(label)
	for _, line := range set(text, lineWidth-len(margin)-width) {
		o.line(fmt.Sprintf("%s%-*s%s", margin, width, label, line))
		label = ""
	}
}

// Verbatim writes lines as they are, but for what a terminal should not be sent, and cuts those that are too long.
func (o *Outline) Verbatim(level int, text string) {
	margin := strings.Repeat(" ", indent*level)
	for line := range strings.Lines(text) {
		words := strings.Split(strings.TrimRight(line, "\n"), " ")
		for i, word := range words {
			words[i] = clean(word)
		}
		o.line(short(margin+strings.Join(words, " "), lineWidth))
	}
}

// set breaks text into lines of at most width characters, within a word where that is longer.
func set(s string, width int) []string {
	var words []string
	for word := range strings.FieldsSeq(s) {
		runes := []rune(word)
		for len(runes) > width {
			words = append(words, string(runes[:width]))
			runes = runes[width:]
		}
		words = append(words, string(runes))
	}
	return wrap(strings.Join(words, " "), width)
}

func (o *Outline) line(s string) { o.out.WriteString(strings.TrimRight(s, " ") + "\n") }

// WriteTo writes the outline.
func (o *Outline) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, o.out.String())
	return int64(n), err
}
