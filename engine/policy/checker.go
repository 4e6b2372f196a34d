package policy

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Minors in which the apiserver's validation changed.
const (
	// minorOfMatchResources is the first one that names a binding's matchResources correctly in messages.
	minorOfMatchResources = 32
	// minorOfShorterMessages is the first one whose messages do not repeat the field's name, and print lists as JSON.
	minorOfShorterMessages = 34
	// minorOfLabelKeys is the first one whose messages call qualified names label keys, and count them in bytes.
	minorOfLabelKeys = 35
	// minorOfStaticNames is the first one that knows policies from files of the apiserver's own. It warns of their names,
	// the next one refuses them.
	minorOfStaticNames = 36
	// minorOfDeclarative is the first one that checks some required fields by declaration, after all others.
	minorOfDeclarative = 37
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

// errors are all errors, as an apiserver of this minor words them.
func (c *checker) errors() field.ErrorList {
	errs := append(c.errs, c.declared...)
	for _, err := range errs {
		if c.minor < minorOfLabelKeys {
			err.Detail = detailBeforeLabelKeys(err.Detail)
		}
		if value := reflect.ValueOf(err.BadValue); c.minor < minorOfShorterMessages && value.Kind() == reflect.String && !isGoSyntax(err.BadValue) {
			err.BadValue = value.String() // Not JSON, in which some characters are escaped.
		}
	}
	return errs
}

// lengthInBytes is a detail of apimachinery's checks of names.
var lengthInBytes = regexp.MustCompile(`^((?:name|prefix) part )?must be no more than (\d+) bytes$`)

func detailBeforeLabelKeys(detail string) string {
	if rest, ok := strings.CutPrefix(detail, "a valid label key "); ok {
		return "a qualified name " + rest
	}
	return lengthInBytes.ReplaceAllString(detail, "${1}must be no more than $2 characters")
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

// since is the wording of a message from a minor on, and before it.
func (c *checker) since(minor int, wording, before string) string {
	if c.minor >= minor {
		return wording
	}
	return before
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
	for _, s := range supported {
		if value == s {
			return
		}
	}
	c.add(field.NotSupported(path, value, supported))
}

// list is how a list of strings appears in a message: as JSON, or before that in Go's syntax, with the element type that
// it has inside an apiserver.
func list[T ~string](c *checker, values []T, element string) any {
	if c.minor >= minorOfShorterMessages {
		return values
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = fmt.Sprintf("%#v", string(v))
	}
	return goSyntax("[]" + element + "{" + strings.Join(quoted, ", ") + "}")
}

// goSyntax is a value that messages print as it is, for want of JSON.
type goSyntax string

// MarshalJSON refuses, so that String is used.
func (g goSyntax) MarshalJSON() ([]byte, error) {
	return nil, fmt.Errorf("%T has no JSON form", g)
}

func (g goSyntax) String() string { return string(g) }

func isGoSyntax(value any) bool {
	_, ok := value.(goSyntax)
	return ok
}
