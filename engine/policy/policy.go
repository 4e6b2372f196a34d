// Package policy loads ValidatingAdmissionPolicies and their bindings as an apiserver takes them in: decoded, defaulted,
// converted to v1 and validated, with the apiserver's own messages for what it would refuse.
package policy

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/vapshadow/vapshadow/internal/manifest"
)

// Versions of Kubernetes whose validation is known, by minor.
const (
	OldestMinor = 30
	NewestMinor = 37
)

// Set is what was loaded, in the order that it was read.
type Set struct {
	Policies []Policy
	Bindings []Binding
	Warnings []Warning
}

// Policy is a policy in its defaulted v1 form, and where it was read.
type Policy struct {
	*admissionv1.ValidatingAdmissionPolicy
	At manifest.Position
}

// Binding is a binding in its defaulted v1 form, and where it was read.
type Binding struct {
	*admissionv1.ValidatingAdmissionPolicyBinding
	At manifest.Position
}

// Refusal is one reason why an apiserver would not take a policy or a binding in. An object has as many as there are
// reasons.
type Refusal struct {
	At   manifest.Position
	Kind string
	Name string
	// Field is the path of the field; empty where the refusal is about the whole object.
	Field string
	// Err is a *field.Error where the apiserver's validation refuses; its text is the apiserver's.
	Err error
}

func (r Refusal) Error() string {
	return fmt.Sprintf("%s: %s %q is refused: %v", r.At, r.Kind, r.Name, r.Err)
}

func (r Refusal) Unwrap() error { return r.Err }

// Warning is something about a policy or a binding that an apiserver takes in, but that is probably not meant so.
type Warning struct {
	At      manifest.Position
	Kind    string
	Name    string
	Message string
}

func (w Warning) String() string {
	return fmt.Sprintf("%s: %s %q: %s", w.At, w.Kind, w.Name, w.Message)
}

// Options say which apiserver to be.
type Options struct {
	// Minor is that of the apiserver's version, OldestMinor to NewestMinor; 0 is the newest.
	Minor int
	// Stored is for objects that were read back from a cluster, which took them in before: expressions may use all that
	// the apiserver knows, and one that does not compile is a Warning only, for it is refused at each evaluation instead.
	// Otherwise objects are taken for new ones, whose expressions may only use what the apiserver's predecessor knows too.
	Stored bool
}

func (o Options) minor() int {
	if o.Minor == 0 {
		return NewestMinor
	}
	return min(max(o.Minor, OldestMinor), NewestMinor)
}
