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
	// minorOfOutputTypes is the first one that says what an expression evaluates to where it must not.
	minorOfOutputTypes = 32
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

// since is the wording of a message from a minor on, and before it.
func (c *checker) since(minor int, wording, before string) string {
	if c.minor >= minor {
		return wording
	}
	return before
}

// lengthInBytes is a detail of apimachinery's checks of names.
var lengthInBytes = regexp.MustCompile(`^((?:name|prefix) part )?must be no more than (\d+) bytes$`)

// reword turns the wording of the newest apiserver into that of this one. It is for messages that come from libraries;
// our own are worded where they are made.
func (c *checker) reword(err *field.Error) {
	if rest, ok := strings.CutPrefix(err.Detail, "a valid label key "); ok && c.minor < minorOfLabelKeys {
		err.Detail = "a qualified name " + rest
	}
	if c.minor < minorOfLabelKeys {
		err.Detail = lengthInBytes.ReplaceAllString(err.Detail, "${1}must be no more than $2 characters")
	}
	if strings.HasPrefix(err.Detail, "must evaluate to ") && c.minor < minorOfOutputTypes {
		err.Detail, _, _ = strings.Cut(err.Detail, " but got ")
	}
	_, printed := err.BadValue.(goSyntax)
	if value := reflect.ValueOf(err.BadValue); value.Kind() == reflect.String && !printed && c.minor < minorOfShorterMessages {
		err.BadValue = value.String() // Not JSON, in which some characters are escaped.
	}
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
