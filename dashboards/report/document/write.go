package document

import (
	"encoding/json"
	"fmt"
	"io"
)

// Formats are the forms that Write knows.
var Formats = []string{"table", "html", "csv", "json", "markdown", "junit", "openreports", "policyreport"}

// Write writes the document in one of Formats.
func Write(w io.Writer, format string, d *Document) error {
	var err error
	switch format {
	case "table":
		err = writeTable(w, d)
	case "html":
		err = writeHTML(w, d)
	case "csv":
		err = writeCSV(w, d)
	case "json":
		err = writeJSON(w, d)
	case "markdown":
		err = writeMarkdown(w, d)
	case "junit":
		err = writeJUnit(w, d)
	case "openreports":
		err = writeReports(w, d, openReports)
	case "policyreport":
		err = writeReports(w, d, policyReports)
	default:
		return fmt.Errorf("no form of a report is called %q", format)
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func writeJSON(w io.Writer, d *Document) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(d)
}
