// Package tools holds what the tests need of other projects besides their programs: the CustomResourceDefinitions of
// openreports.io.
package tools

import _ "github.com/openreports/reports-api/apis/openreports.io/v1alpha1" // pins the module
