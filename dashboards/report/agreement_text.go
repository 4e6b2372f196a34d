package report

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// shownValue is how many characters of a message or a value are shown to a person.
const shownValue = 400

// WriteAgreement writes the agreement for a person at a terminal, as plain text: the answer, a table by policy, and each
// disagreement.
func WriteAgreement(w io.Writer, a *Agreement) error {
	var out strings.Builder
	writeVerified(&out, a)
	writeComparedPolicies(&out, a)
	writeComparedAnnotations(&out, a)
	for i := range a.Disagreements {
		writeDisagreement(&out, &a.Disagreements[i])
	}
	if n := a.OtherDisagreements; n > 0 {
		fmt.Fprintf(&out, "\n%s not shown (--show).\n", several(n, "more disagreement is", "more disagreements are"))
	}
	writeList(&out, "Named by the log, but not given, and so not compared:", notGivenLines(a.NotGiven))
	writeList(&out, "Notes:", a.Notes)
	writeList(&out, "Refused, and not evaluated:", a.Refused)
	writeList(&out, "Warnings:", a.Warnings)
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("writing the agreement: %w", err)
	}
	return nil
}

// writeVerified writes what is asked first, and what the answer leaves out.
func writeVerified(out *strings.Builder, a *Agreement) {
	lines := []string{verified(a)}
	if n := a.AuditAnnotations; n.Compared > 0 {
		lines = append(lines, fmt.Sprintf("Of %s of audit annotations they agree on %s.", several(n.Compared, "value", "values"), allOr(n)))
	}
	if n := a.Decisions.Undecided + a.AuditAnnotations.Undecided; n > 0 {
		lines = append(lines, fmt.Sprintf("Undecided, as the log does not hold what they hang on: %s (%s).", number(n), reasons(a.UndecidedBecause)))
	}
	if n := a.Decisions.NotRecorded; n > 0 {
		line := fmt.Sprintf("Not recorded, so that there is nothing to compare with: %s", number(n))
		if a.OneFailure {
			line += fmt.Sprintf(" (an apiserver %s records no more than one failure of a request)", clean(a.KubernetesVersion))
		}
		lines = append(lines, line+".")
	}
	if n := a.Decisions.Reordered + a.AuditAnnotations.Reordered; n > 0 {
		lines = append(lines, fmt.Sprintf("Alike but for the order of words, which an apiserver leaves to chance: %s.", number(n)))
	}
	lines = append(lines, "", readAgreement(a))
	for _, line := range lines {
		for _, l := range wrap(line, lineWidth) {
			out.WriteString(l + "\n")
		}
	}
}

func verified(a *Agreement) string {
	n := a.Decisions
	policies := map[string]bool{}
	for _, p := range a.Policies {
		if p.Compared.Compared > 0 {
			policies[p.Policy] = true
		}
	}
	of := "of " + several(int64(len(policies)), "policy", "policies")
	switch {
	case a.Nothing() != "":
		return "Nothing could be compared."
	case n.Disagreed > 0:
		return fmt.Sprintf("vapshadow and the apiserver disagree on %s of %s %s.",
			number(n.Disagreed), several(n.Compared, "recorded decision", "recorded decisions"), of)
	case n.Compared == 1:
		return fmt.Sprintf("vapshadow and the apiserver agree on the 1 recorded decision %s.", of)
	default:
		return fmt.Sprintf("vapshadow and the apiserver agree on all %s recorded decisions %s.", number(n.Compared), of)
	}
}

func allOr(n Compared) string {
	if n.Disagreed == 0 {
		return "all"
	}
	return number(n.Agreed)
}

func readAgreement(a *Agreement) string {
	text := "Read " + several(a.Events, "event", "events")
	if a.Period != nil {
		text += fmt.Sprintf(" from %s to %s", a.Period.First.Format(time.RFC3339), a.Period.Last.Format(time.RFC3339))
	}
	text += fmt.Sprintf("; %s a decision", several(a.Recorded, "request holds", "requests hold"))
	if a.Unfinished > 0 {
		text += fmt.Sprintf("; %s when the log ended", several(a.Unfinished, "more was under way", "more were under way"))
	}
	if n := total(a.Skipped); n > 0 {
		text += fmt.Sprintf("; %s skipped (%s)", several(n, "piece of input was", "pieces of input were"), reasons(a.Skipped))
	}
	return text + "."
}

// writeComparedPolicies writes a row a policy, its bindings taken together.
func writeComparedPolicies(out *strings.Builder, a *Agreement) {
	var names []string
	sums := map[string]*ComparedPolicy{}
	for _, p := range a.Policies {
		sum := sums[p.Policy]
		if sum == nil {
			sum = &ComparedPolicy{Policy: p.Policy}
			sums[p.Policy] = sum
			names = append(names, p.Policy)
		}
		sum.add(p.Compared)
		sum.BothFail += p.BothFail
	}
	var rows [][]string
	for _, name := range names {
		rows = append(rows, append([]string{clean(name)}, cells(sums[name].Compared, number(sums[name].BothFail))...))
	}
	writeRows(out, []string{"POLICY", "COMPARED", "AGREED", "BOTH FAIL", "DISAGREED", "UNDECIDED", "NOT RECORDED"}, rows)
}

func writeComparedAnnotations(out *strings.Builder, a *Agreement) {
	var rows [][]string
	for _, c := range a.Annotations {
		rows = append(rows, append([]string{clean(c.Policy + "/" + c.Key)}, cells(c.Compared)...))
	}
	writeRows(out, []string{"AUDIT ANNOTATION", "COMPARED", "AGREED", "DISAGREED", "UNDECIDED", "NOT RECORDED"}, rows)
}

// cells are those of a row, with more of them after the second.
func cells(n Compared, more ...string) []string {
	out := append([]string{number(n.Compared), number(n.Agreed)}, more...)
	return append(out, number(n.Disagreed), number(n.Undecided), number(n.NotRecorded))
}

// writeRows writes a table of names with numbers.
func writeRows(out *strings.Builder, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	all := append([][]string{head}, rows...)
	widths := make([]int, len(head))
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	out.WriteByte('\n')
	for _, row := range all {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				out.WriteString(cell + pad)
				continue
			}
			out.WriteString(gap + pad + cell)
		}
		out.WriteByte('\n')
	}
}

// shownNotGiven is how many policies that are not given are named to a person.
const shownNotGiven = 10

func notGivenLines(list []NotGiven) []string {
	var out []string
	for i, n := range list {
		if left := len(list) - i; i == shownNotGiven && left > 1 {
			return append(out, number(int64(left))+" more")
		}
		line := "policy " + n.Policy
		if n.Binding != "" {
			line += " with binding " + n.Binding
		}
		out = append(out, line+": "+several(n.Events, "event", "events"))
	}
	return out
}

func writeDisagreement(out *strings.Builder, d *Disagreement) {
	what := "policy " + clean(d.Policy)
	if d.Binding != "" {
		what += ", binding " + clean(d.Binding)
	}
	switch {
	case d.ExpressionIndex != nil:
		what += fmt.Sprintf(", validations[%d]", *d.ExpressionIndex)
	case d.Annotation != "":
		what += ", audit annotation " + clean(d.Annotation)
	}
	fmt.Fprintf(out, "\n%s\n  %s of %s, audit ID %s, %s\n", what, clean(orDash(d.Operation)), clean(place(d)), clean(d.AuditID), d.StageTimestamp.Format(time.RFC3339Nano))
	fmt.Fprintf(out, "  apiserver: %s\n  vapshadow: %s\n", d.Apiserver.text(true), d.Vapshadow.text(false))
}

// place names the object: "deployments.apps/scale shop/web".
func place(d *Disagreement) string {
	text := d.Resource
	if d.Group != "" {
		text += "." + d.Group
	}
	if d.SubResource != "" {
		text += "/" + d.SubResource
	}
	switch {
	case d.Namespace != "" && d.Name != "":
		text += " " + d.Namespace + "/" + d.Name
	case d.Name != "":
		text += " " + d.Name
	case d.Namespace != "":
		text += " in " + d.Namespace
	}
	return text
}

// text says what a side says; the apiserver's is what it recorded.
func (s Side) text(recorded bool) string {
	said := map[string]string{
		"Fail": "fails", "Pass": "passes", "Deny": "rejects the request", "Admit": "admits the request",
		"Value": "has the value", "NoValue": "has no value", "Skipped": "a match condition is false",
		"NotMatched": "does not match the request", "NotAdmission": "the policy plugin is not shown such a request",
	}[s.Said]
	if recorded && s.Said == "Pass" {
		said = "records no failure"
	}
	if s.Message != "" {
		said += ": " + short(clean(s.Message), shownValue)
	}
	if len(s.ValidationActions) > 0 {
		said += " [" + clean(strings.Join(s.ValidationActions, ", ")) + "]"
	}
	return said
}
