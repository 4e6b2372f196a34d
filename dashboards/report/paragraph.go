package report

import (
	"fmt"
	"strings"
)

// writeParagraphs tells about the worst policies: whose requests they would stop, with which message, and what is not
// known of them.
func writeParagraphs(out *strings.Builder, s *Summary, wide bool) {
	told, untold := 0, int64(0)
	for i := range s.Policies {
		p := &s.Policies[i]
		switch {
		case p.WouldStop == 0 && p.Unknown == 0:
		case told == paragraphs && !wide:
			untold++
		default:
			told++
			writeParagraph(out, p, wide)
		}
	}
	if untold > 0 {
		fmt.Fprintf(out, "\nand %s more; -o wide tells of all.\n", number(untold))
	}
}

func writeParagraph(out *strings.Builder, p *Policy, wide bool) {
	out.WriteString("\n" + clean(p.Policy) + bound(p) + "\n")
	if p.Stopped != nil {
		writeItem(out, "Would stop", wouldStop(p))
		writeTop(out, "Namespaces", p.Stopped.Namespaces)
		writeTop(out, "Workloads", p.Stopped.Workloads)
		writeTop(out, "Users", p.Stopped.Users)
		writeMessages(out, p.Stopped.Messages, wide)
	}
	for _, b := range p.UnknownBecause {
		text := fmt.Sprintf("%s, %s", several(b.Count, "request", "requests"), orDash(clean(b.Because)))
		if len(b.Attributes.Names) > 0 {
			text += ": " + list(b.Attributes)
		}
		writeItem(out, "Unknown", text)
	}
}

func bound(p *Policy) string {
	switch {
	case p.Binding == "" && len(p.ValidationActions) == 0:
		return ""
	case p.Binding == "":
		return " (" + clean(strings.Join(p.ValidationActions, ", ")) + ")"
	default:
		return " (bound by " + clean(p.Binding) + " as " + orDash(clean(strings.Join(p.ValidationActions, ", "))) + ")"
	}
}

func wouldStop(p *Policy) string {
	text := fmt.Sprintf("%s of %s, of %s", number(p.WouldStop), several(p.Matched, "matched request", "matched requests"),
		atLeast(p.Stopped.Objects)+" "+plural(p.Stopped.Objects, "object", "different objects"))
	if p.Repeats > 0 {
		text += fmt.Sprintf("; %s, as the object was before", several(p.Repeats, "only repeats a failure", "only repeat a failure"))
	}
	if p.BlocksAnyway > 0 {
		text += fmt.Sprintf("; %s whatever validationActions say", several(p.BlocksAnyway, "is rejected", "are rejected"))
	}
	if p.AlreadyFailed > 0 {
		text += fmt.Sprintf("; %s failed in the log too", number(p.AlreadyFailed))
	}
	return text
}

func plural(d Distinct, one, many string) string {
	if d.Count == 1 && !d.AtLeast {
		return one
	}
	return many
}

func writeTop(out *strings.Builder, label string, t Top) {
	if len(t.Names) > 0 {
		writeItem(out, label, list(t))
	}
}

// list writes the most frequent names and how much is left.
func list(t Top) string {
	names := make([]string, 0, len(t.Names)+1)
	for _, n := range t.Names {
		names = append(names, orDash(short(clean(n.Name), lineWidth))+" ("+number(n.Count)+")")
	}
	if left := t.Distinct.without(len(t.Names)); left.Count > 0 {
		names = append(names, atLeast(left)+" more ("+number(t.Others)+")")
	}
	return strings.Join(names, ", ")
}

// writeMessages writes the most frequent message, or in a wide table all that are listed, and how many others there are.
func writeMessages(out *strings.Builder, m Messages, wide bool) {
	shown := m.Samples
	if !wide && len(shown) > 1 {
		shown = shown[:1]
	}
	for _, sample := range shown {
		writeItem(out, "Message", fmt.Sprintf("%s (%s, first with audit ID %s)",
			short(clean(sample.Message), messageWidth), several(sample.Count, "time", "times"), clean(sample.AuditID)))
	}
	if left := m.Distinct.without(len(shown)); left.Count > 0 {
		writeItem(out, "", "and "+atLeast(left)+" other "+plural(left, "message", "messages"))
	}
}

// without is what is left when some are told.
func (d Distinct) without(told int) Distinct {
	d.Count -= int64(told)
	if d.AtLeast {
		d.Count++ // the one that was not kept apart
	}
	return d
}

// messageWidth is how much of a message is shown; it may have 5 KiB.
const messageWidth = 300

func atLeast(d Distinct) string {
	if d.AtLeast {
		return "≥" + number(d.Count)
	}
	return number(d.Count)
}

const labelWidth = 12

func writeItem(out *strings.Builder, label, text string) {
	for _, line := range wrap(text, lineWidth-labelWidth-2) {
		fmt.Fprintf(out, "  %-*s%s\n", labelWidth, label, line)
		label = ""
	}
}
