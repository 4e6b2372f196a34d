package document

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"strings"
)

// mostShown is how many workloads and messages a document for people shows.
const mostShown = 20

func writeMarkdown(w io.Writer, d *Document) error {
	var out bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	v := d.Verdicts
	p("## vapshadow: %d ready, %d would break workloads, %d misconfigured, %d without enough evidence\n",
		v.Ready, v.WouldBreak, v.Misconfigured, v.NotEnoughEvidence)
	p("%s. %s. %s.\n", sentenceCase(d.period()), d.population(), sentenceCase(d.criteria()))
	for _, gap := range d.gaps() {
		p("- %s", text(gap))
	}
	p("- %s", text(strings.Join(d.Agreement.lines(), "; ")))
	p("\n| policy / binding | verdict | days | matched | decided | would fail | repeated | workloads | new | failing now | system actors |")
	p("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for i := range d.Bindings {
		b := &d.Bindings[i]
		p("| %s | %s | %.1f | %d | %s | %d | %d | %d | %d | %d | %d |", code(b.scope()), text(b.Sentence), b.Days, b.Matched, b.Coverage,
			b.WouldFail, b.Repeats, b.Workloads, b.NewWorkloads, b.FailingNow, b.SystemActors)
	}
	if d.Exceptions != nil {
		d.Exceptions.markdown(p)
	}
	for i := range d.Bindings {
		d.Bindings[i].markdown(p)
	}
	p("\n<sub>%s · `%s`</sub>", text(d.versions()), d.Digest)
	_, err := w.Write(out.Bytes())
	return err
}

func (b *Binding) markdown(p func(string, ...any)) {
	p("\n<details><summary>%s: %s</summary>\n", inHTML(b.scope()), inHTML(b.Sentence))
	p("Policy hash %s, binding hash %s. %d exact, %d presumed, %d decided otherwise, %d unknown.\n",
		code(cmp.Or(b.PolicyHash, "-")), code(cmp.Or(b.BindingHash, "-")), b.DecidedExact, b.DecidedPresumed, b.DecidedOtherwise, b.Unknown)
	for _, u := range b.unknown() {
		p("- %s", text(u))
	}
	if len(b.Failing) > 0 {
		more, line := "", ""
		if b.Exceptions != nil {
			p("\n%s.", sentenceCase(b.Exceptions.words()))
			more, line = " exception |", "---|"
		}
		p("\n| workload | requests | repeated | last | message | audit IDs |%s\n|---|--:|--:|---|---|---|%s", more, line)
		for _, l := range b.Failing[:min(mostShown, len(b.Failing))] {
			if b.Exceptions != nil {
				more = " " + text(l.Exception.words()) + " |"
			}
			p("| %s | %d | %d | %s | %s | %s |%s", code(l.scope()), l.Requests, l.Repeats, moment(l.Last), code(l.Message), code(strings.Join(l.AuditIDs, " ")), more)
		}
		if n := b.Workloads - int64(min(mostShown, len(b.Failing))); n > 0 {
			p("\n%d more workloads.", n)
		}
	}
	if len(b.LeavesOut) > 0 {
		p("\nLeft out by themselves:\n")
	}
	for i := range b.LeavesOut {
		p("- %s", text(b.LeavesOut[i].line()))
	}
	for _, t := range [][2]string{{"policy", b.PolicyText}, {"binding", b.BindingText}} {
		if t[1] != "" {
			body := strings.TrimSpace(asYAML(t[1]))
			fence := fenceFor(body, "```")
			p("\nThe %s:\n\n%syaml\n%s\n%s", t[0], fence, body, fence)
		}
	}
	p("\n</details>")
}

func (x *Exceptions) markdown(p func(string, ...any)) {
	p("\n%s.", text(sentenceCase(x.sentence())))
	if len(x.List) == 0 {
		return
	}
	p("\n| exception of | for | until | approved by | state | reason |\n|---|---|---|---|---|---|")
	for i := range x.List {
		e := &x.List[i]
		p("| %s | %s | %s | %s | %s | %s |", code(e.policy()), code(e.where()), e.Until, text(e.ApprovedBy), text(e.state()), text(e.Reason))
	}
}

// text escapes what Markdown would read as anything but text. A mention of a team stays without effect.
func text(s string) string {
	var out strings.Builder
	for _, r := range plain(s) {
		switch r {
		case '<':
			out.WriteString("&lt;")
		case '&':
			out.WriteString("&amp;")
		case '@':
			out.WriteString("&#64;")
		case '\\', '`', '*', '_', '[', ']', '|', '#', '~', '!':
			out.WriteByte('\\')
			out.WriteRune(r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// inHTML escapes a text for within an HTML element, where Markdown's own escapes do not count.
func inHTML(s string) string { return strings.ReplaceAll(html.EscapeString(plain(s)), "@", "&#64;") }

// code shows a text as it is, within a table.
func code(s string) string {
	s = plain(s)
	if s == "" {
		return ""
	}
	fence := fenceFor(s, "`")
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + strings.ReplaceAll(s, "|", `\|`) + fence
}

// fenceFor is longer than every run of backticks in a text.
func fenceFor(s, fence string) string {
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence
}

func sentenceCase(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
