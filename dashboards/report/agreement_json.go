package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// WriteAgreementJSON writes the agreement as indented JSON.
func WriteAgreementJSON(w io.Writer, a *Agreement) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(a.withoutNulls()); err != nil {
		return fmt.Errorf("writing the agreement: %w", err)
	}
	return nil
}

// WriteAgreementYAML writes what WriteAgreementJSON writes, as YAML.
func WriteAgreementYAML(w io.Writer, a *Agreement) error {
	var buffer bytes.Buffer
	if err := WriteAgreementJSON(&buffer, a); err != nil {
		return err
	}
	out, err := yaml.JSONToYAML(buffer.Bytes())
	if err != nil {
		return fmt.Errorf("writing the agreement as YAML: %w", err)
	}
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("writing the agreement: %w", err)
	}
	return nil
}

// withoutNulls returns a copy whose lists and maps are there, even if empty.
func (a *Agreement) withoutNulls() *Agreement {
	out := *a
	out.UndecidedBecause, out.Skipped = orEmpty(a.UndecidedBecause), orEmpty(a.Skipped)
	out.Policies = append([]ComparedPolicy{}, a.Policies...)
	out.Annotations = append([]ComparedAnnotation{}, a.Annotations...)
	out.Disagreements = append([]Disagreement{}, a.Disagreements...)
	out.NotGiven = append([]NotGiven{}, a.NotGiven...)
	out.Notes = append([]string{}, a.Notes...)
	out.Refused = append([]string{}, a.Refused...)
	out.Warnings = append([]string{}, a.Warnings...)
	return &out
}
