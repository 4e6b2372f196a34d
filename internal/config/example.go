package config

import (
	_ "embed" // for Example
	"net/url"
)

// Example is a configuration with all fields.
//
//go:embed example.yaml
var Example string

// Redact takes the password out of the address of a store.
func Redact(store string) string {
	u, err := url.Parse(store)
	if err != nil {
		return "(a store whose address cannot be read)"
	}
	return u.Redacted()
}
