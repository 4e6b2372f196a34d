package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// WriteJSON writes the summary as indented JSON.
func WriteJSON(w io.Writer, s *Summary) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

// WriteYAML writes what WriteJSON writes, as YAML.
func WriteYAML(w io.Writer, s *Summary) error {
	var buffer bytes.Buffer
	if err := WriteJSON(&buffer, s); err != nil {
		return err
	}
	out, err := yaml.JSONToYAML(buffer.Bytes())
	if err != nil {
		return fmt.Errorf("writing the summary as YAML: %w", err)
	}
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}
