package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// staticSuffix ends the names of policies and bindings that come from files of the apiserver's own.
const staticSuffix = ".static.k8s.io"

// checker validates one object. Its errors are the apiserver's, in the apiserver's order.
type checker struct {
	minor       int
	stored      bool
	expressions *expressions

	errs field.ErrorList
	// declared are errors that come after all others.
	declared field.ErrorList
	// broken are stored expressions that do not compile.
	broken   field.ErrorList
	warnings []string
}

// errors are all errors, worded as an apiserver of this minor words them.
func (c *checker) errors() field.ErrorList {
	errs := append(c.errs, c.declared...)
	for _, err := range errs {
		c.reword(err)
	}
	return errs
}

func (c *checker) add(errs ...*field.Error) { c.errs = append(c.errs, errs...) }

func (c *checker) required(path *field.Path, detail string) { c.add(field.Required(path, detail)) }

func (c *checker) invalid(path *field.Path, value any, detail string) {
	c.add(field.Invalid(path, value, detail))
}

// requiredByDeclaration is for the required fields that newer apiservers check by declaration, without a detail.
func (c *checker) requiredByDeclaration(path *field.Path, detail string) {
	if c.minor >= minorOfDeclarative {
		c.declared = append(c.declared, field.Required(path, ""))
		return
	}
	c.required(path, detail)
}

// staticName checks that a name is not one of those that the apiserver keeps for itself. Stored objects that have one
// were not stored in the cluster, and are as good.
func (c *checker) staticName(name string) {
	if c.stored || c.minor < minorOfStaticNames || !strings.HasSuffix(name, staticSuffix) {
		return
	}
	path := field.NewPath("metadata", "name")
	detail := fmt.Sprintf("names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", staticSuffix)
	if c.minor == minorOfStaticNames {
		c.warnings = append(c.warnings, fmt.Sprintf("%s: %s", path, detail))
		return
	}
	c.invalid(path, name, detail)
}

// oneOf checks a field that must have one of the supported values.
func oneOf[T ~string](c *checker, path *field.Path, value *T, supported ...T) {
	if value == nil {
		c.required(path, "")
		return
	}
	notSupported(c, path, *value, supported)
}

func notSupported[T ~string](c *checker, path *field.Path, value T, supported []T) {
	if !slices.Contains(supported, value) {
		c.add(field.NotSupported(path, value, supported))
	}
}
