package document

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

func writeTable(w io.Writer, d *Document) error {
	if _, err := fmt.Fprintf(w, "%s\n%s\n%s\n", d.period(), d.population(), d.criteria()); err != nil {
		return err
	}
	for _, gap := range d.gaps() {
		if _, err := fmt.Fprintf(w, "  %s\n", gap); err != nil {
			return err
		}
	}
	for i, line := range d.Agreement.lines() {
		if _, err := fmt.Fprintf(w, "%s%s\n", strings.Repeat("  ", min(i, 1)), line); err != nil {
			return err
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "\nPOLICY / BINDING\tDAYS\tMATCHED\tDECIDED\tWOULD FAIL\tREPEATED\tWORKLOADS\tNEW\tNOW\tSYSTEM\tVERDICT")
	for i := range d.Bindings {
		b := &d.Bindings[i]
		_, _ = fmt.Fprintf(t, "%s\t%.1f\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", b.scope(), b.Days, b.Matched, b.Coverage, b.WouldFail,
			b.Repeats, b.Workloads, b.NewWorkloads, b.FailingNow, b.SystemActors, b.Sentence)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := d.writeTableExceptions(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n%s\n", d.versions(), d.Digest)
	return err
}

// writeTableExceptions writes what the policies leave out, and what people have accepted, below the bindings.
func (d *Document) writeTableExceptions(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := "\nPOLICY / BINDING\tLEFT OUT\n"
	for i := range d.Bindings {
		b := &d.Bindings[i]
		for j := range b.LeavesOut {
			_, _ = fmt.Fprintf(t, "%s%s\t%s\n", head, b.scope(), b.LeavesOut[j].line())
			head = ""
		}
	}
	if err := t.Flush(); err != nil || d.Exceptions == nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", sentenceCase(d.Exceptions.sentence())); err != nil {
		return err
	}
	if len(d.Exceptions.List) == 0 {
		return nil
	}
	_, _ = fmt.Fprintln(t, "\nEXCEPTION OF\tFOR\tUNTIL\tAPPROVED BY\tSTATE\tREASON")
	for i := range d.Exceptions.List {
		e := &d.Exceptions.List[i]
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", e.policy(), e.where(), e.Until, plain(e.ApprovedBy), e.state(), plain(e.Reason))
	}
	return t.Flush()
}
