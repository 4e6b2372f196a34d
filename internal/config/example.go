package config

import _ "embed" // for Example

// Example is a configuration with all fields.
//
//go:embed example.yaml
var Example string
