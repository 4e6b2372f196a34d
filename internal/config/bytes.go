package config

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bytes is a number of bytes, written as 268435456, 256Mi or 1Gi.
type Bytes int64

var units = map[string]int64{"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}

// ParseBytes reads a number of bytes.
func ParseBytes(s string) (Bytes, error) {
	digits := strings.TrimRight(s, "KMGi")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit, known := units[s[len(digits):]]
	if err != nil || !known || n < 0 || n > (1<<62)/unit {
		return 0, fmt.Errorf("%q is no number of bytes: write 1048576, 256Mi or 1Gi", s)
	}
	return Bytes(n * unit), nil
}

// UnmarshalYAML reads a number of bytes.
func (b *Bytes) UnmarshalYAML(node *yaml.Node) error {
	n, err := ParseBytes(node.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	*b = n
	return nil
}
