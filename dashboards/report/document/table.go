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
	_, _ = fmt.Fprintln(t, "\nPOLICY / BINDING\tDAYS\tMATCHED\tDECIDED\tWOULD FAIL\tWORKLOADS\tNOW\tSYSTEM\tVERDICT")
	for i := range d.Bindings {
		b := &d.Bindings[i]
		_, _ = fmt.Fprintf(t, "%s\t%.1f\t%d\t%s\t%d\t%d\t%d\t%d\t%s\n", b.scope(), b.Days, b.Matched, b.Coverage, b.WouldFail,
			b.Workloads, b.FailingNow, b.SystemActors, b.Sentence)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n%s\n", d.versions(), d.Digest)
	return err
}
