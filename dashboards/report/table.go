package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// lineWidth is how wide prose is set; tables and names may be wider.
const lineWidth = 100

// tableWidth is how wide a table should be that is not wide; the names of policies and bindings are cut for it, to no
// less than leastName characters.
const (
	tableWidth = 120
	leastName  = 16
)

// paragraphs is how many policies are told about where the table is not wide.
const paragraphs = 5

// WriteTable writes the summary for a person at a terminal, as plain text: the answer, a table, and a paragraph for
// each of the worst policies. Wide tables have all columns, names in full and a paragraph for each policy that has
// something to tell.
func WriteTable(w io.Writer, s *Summary, wide bool) error {
	var out strings.Builder
	writeAnswer(&out, s)
	if len(s.Policies) > 0 {
		out.WriteByte('\n')
		writeCells(&out, columnsThatFit(s, wide), s.Policies)
	}
	writeParagraphs(&out, s, wide)
	writeList(&out, "To decide what is unknown:", adviceLines(s.Advice))
	writeList(&out, "Refused, and not evaluated:", s.Refused)
	writeList(&out, "Warnings:", s.Warnings)
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// column is a column of the table. Numbers stand to the right.
type column struct {
	head  string
	right bool
	cell  func(*Policy) string
}

// columnsThatFit cuts names as little as it can.
func columnsThatFit(s *Summary, wide bool) []column {
	if wide {
		return columnsOf(s, wide, 0)
	}
	limit := tableWidth / 2
	for {
		columns := columnsOf(s, wide, limit)
		total := -len(gap)
		for _, width := range widths(columns, s.Policies) {
			total += width + len(gap)
		}
		if total <= tableWidth || limit <= leastName {
			return columns
		}
		limit--
	}
}

// columnsOf returns the columns, with names of at most limit characters; 0 is no limit.
func columnsOf(s *Summary, wide bool, limit int) []column {
	count := func(head string, of func(*Policy) int64) column {
		return column{head: head, right: true, cell: func(p *Policy) string { return number(of(p)) }}
	}
	columns := []column{
		{head: "POLICY", cell: func(p *Policy) string { return short(clean(p.Policy), limit) }},
		{head: "BINDING", cell: func(p *Policy) string { return short(orDash(clean(p.Binding)), limit) }},
		{head: "ACTIONS", cell: func(p *Policy) string { return orDash(clean(strings.Join(p.ValidationActions, ","))) }},
		count("MATCHED", func(p *Policy) int64 { return p.Matched }),
		count("WOULD STOP", func(p *Policy) int64 { return p.WouldStop }),
	}
	optional := []column{
		count("REPEATED", func(p *Policy) int64 { return p.Repeats }),
		count("BLOCKS NOW", func(p *Policy) int64 { return p.BlocksAnyway }),
		count("SKIPPED", func(p *Policy) int64 { return p.Skipped }),
		count("PASSED", func(p *Policy) int64 { return p.Passed }),
		count("FAILED", func(p *Policy) int64 { return p.Failed }),
		count("ERRORS", func(p *Policy) int64 { return p.Errors }),
		count("IGNORED", func(p *Policy) int64 { return p.ErrorsIgnored }),
		count("DENIED", func(p *Policy) int64 { return p.WouldDeny }),
		count("WARNED", func(p *Policy) int64 { return p.WouldWarn }),
		count("AUDITED", func(p *Policy) int64 { return p.WouldAudit }),
		count("EXACT", func(p *Policy) int64 { return p.Coverage.Exact }),
		count("PRESUMED", func(p *Policy) int64 { return p.Coverage.Presumed }),
	}
	for _, c := range optional {
		blocksOrErrors := c.head == "BLOCKS NOW" || c.head == "ERRORS"
		if wide || blocksOrErrors && anyCell(c, s.Policies) {
			columns = append(columns, c)
		}
	}
	return append(columns,
		count("UNKNOWN", func(p *Policy) int64 { return p.Unknown }),
		column{head: "DECIDED", right: true, cell: func(p *Policy) string {
			return share(p.Coverage.Decided(), p.Coverage.Matched())
		}})
}

func anyCell(c column, rows []Policy) bool {
	for i := range rows {
		if c.cell(&rows[i]) != "0" {
			return true
		}
	}
	return false
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// gap stands between columns.
const gap = "  "

func widths(columns []column, rows []Policy) []int {
	all := make([]int, len(columns))
	for i, c := range columns {
		all[i] = utf8.RuneCountInString(c.head)
		for r := range rows {
			all[i] = max(all[i], utf8.RuneCountInString(c.cell(&rows[r])))
		}
	}
	return all
}

func writeCells(out *strings.Builder, columns []column, rows []Policy) {
	all := widths(columns, rows)
	line := func(cell func(column) string) {
		var text strings.Builder
		for i, c := range columns {
			if i > 0 {
				text.WriteString(gap)
			}
			value := cell(c)
			pad := strings.Repeat(" ", all[i]-utf8.RuneCountInString(value))
			if c.right {
				text.WriteString(pad + value)
			} else {
				text.WriteString(value + pad)
			}
		}
		out.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	line(func(c column) string { return c.head })
	for i := range rows {
		line(func(c column) string { return c.cell(&rows[i]) })
	}
}

// writeList writes items that may have several lines, as errors of the CEL compiler have.
func writeList(out *strings.Builder, head string, items []string) {
	if len(items) == 0 {
		return
	}
	out.WriteString("\n" + head + "\n")
	for _, item := range items {
		mark := "- "
		for line := range strings.Lines(item) {
			// The compiler points at a column by leading spaces and dots.
			trimmed := strings.TrimLeft(line, " ")
			text := clean(trimmed)
			if text == "" {
				continue
			}
			out.WriteString(mark + strings.Repeat(" ", len(line)-len(trimmed)) + text + "\n")
			mark = "  "
		}
	}
}
