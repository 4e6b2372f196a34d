package web

import "time"

// table is a list of groups, all drawn alike.
type table struct {
	// Caption says what the rows are; Empty what it means that there are none.
	Caption, Empty string
	Head           []head
	Rows           [][]cell
	// More says that rows are left out.
	More string
}

type head struct {
	Text string
	// Number puts the column to the right.
	Number bool
}

// cell is one cell. All of it is text: the template escapes.
type cell struct {
	Text, Link, Note string
	// Class is one of ours: number, fixed (on one line), code, message, quiet.
	Class string
	Pill  *pill
	Bar   *bar
}

// pill is a short word with a colour and a sign.
type pill struct{ Text, Kind string }

// bar is a share of a whole as a picture: parts in percent, beside each other.
type bar struct {
	Label string
	Parts []part
}

type part struct {
	Kind     string
	X, Width float64
	Title    string
}

func heads(texts ...string) (out []head) {
	for _, t := range texts {
		text, right := t, false
		if t[0] == '#' {
			text, right = t[1:], true
		}
		out = append(out, head{text, right})
	}
	return out
}

func text(s string) cell { return cell{Text: s} }

func count(n int64) cell { return cell{Text: number(n), Class: "number"} }

// linked is a name that leads to a page of its own, where it is shown in full.
func linked(s, link string) cell { return cell{Text: short(s, 160), Link: link} }

// when is a time in a table, whose head says that it is UTC.
func when(t time.Time) cell {
	if t.IsZero() {
		return cell{Text: "never"}
	}
	return cell{Text: t.UTC().Format("2006-01-02 15:04"), Class: "fixed"}
}

// newBar divides a whole.
func newBar(label string, whole int64, parts ...labelled) *bar {
	b := &bar{Label: label}
	x := 0.0
	for _, p := range parts {
		if p.n == 0 || whole == 0 {
			continue
		}
		width := float64(p.n) / float64(whole) * 100
		b.Parts = append(b.Parts, part{p.kind, x, width, p.title + ": " + number(p.n) + " (" + percent(p.n, whole) + ")"})
		x += width
	}
	return b
}

type labelled struct {
	kind, title string
	n           int64
}

// cutTop keeps as many rows as a table shows, where one more was asked for to see whether there are more.
func (t *table) cutTop(what string) {
	if len(t.Rows) > top {
		t.Rows = t.Rows[:top]
		t.More = "The first " + number(top) + " " + what + ". Choose a shorter period, or search, to see others."
	}
}
