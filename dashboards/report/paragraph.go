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
			writeParagraph(out, p)
		}
	}
	if untold > 0 {
		fmt.Fprintf(out, "\n%s more to tell about; -o wide shows them.\n", isOrAre(untold, "policy has", "policies have"))
	}
}

func writeParagraph(out *strings.Builder, p *Policy) {
	out.WriteString("\n" + clean(p.Policy) + bound(p) + "\n")
	if p.Stopped != nil {
		writeItem(out, "Would stop", wouldStop(p))
		writeTop(out, "Namespaces", p.Stopped.Namespaces)
		writeTop(out, "Workloads", p.Stopped.Workloads)
		writeTop(out, "Users", p.Stopped.Users)
		writeMessages(out, p.Stopped.Messages)
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
		atLeast(p.Stopped.Objects)+objects(p.Stopped.Objects))
	if p.BlocksAnyway > 0 {
		text += fmt.Sprintf("; %s whatever validationActions say", isOrAre(p.BlocksAnyway, "is rejected", "are rejected"))
	}
	if p.AlreadyFailed > 0 {
		text += fmt.Sprintf("; %s failed in the log too", number(p.AlreadyFailed))
	}
	return text
}

func objects(d Distinct) string {
	if d.Count == 1 && !d.AtLeast {
		return " object"
	}
	return " different objects"
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
		names = append(names, orDash(clean(n.Name))+" ("+number(n.Count)+")")
	}
	if left := t.Distinct.Count - int64(len(t.Names)); left > 0 || t.Distinct.AtLeast {
		names = append(names, atLeast(Distinct{Count: left, AtLeast: t.Distinct.AtLeast})+" more ("+number(t.Others)+")")
	}
	return strings.Join(names, ", ")
}

// writeMessages writes one message in full words, and how many others there are.
func writeMessages(out *strings.Builder, m Messages) {
	if len(m.Samples) == 0 {
		return
	}
	first := m.Samples[0]
	writeItem(out, "Message", fmt.Sprintf("%s (%s, first with audit ID %s)",
		short(clean(first.Message), messageWidth), several(first.Count, "time", "times"), clean(first.AuditID)))
	if left := m.Distinct.Count - 1; left > 0 || m.Distinct.AtLeast {
		writeItem(out, "", "and "+atLeast(Distinct{Count: left, AtLeast: m.Distinct.AtLeast})+" other messages")
	}
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
