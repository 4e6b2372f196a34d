package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// hashDigits is how much of a hash is kept: enough to tell the versions of a policy apart.
const hashDigits = 12

// ContentHash tells versions of a policy or binding apart by what they say: it is a hash of the spec as canonical JSON,
// and so the same wherever the object was read from. Of any other value, the whole is hashed. It is empty for what has no
// JSON form.
func ContentHash(obj any) string {
	switch o := obj.(type) {
	case Policy:
		return ContentHash(o.ValidatingAdmissionPolicy)
	case Binding:
		return ContentHash(o.ValidatingAdmissionPolicyBinding)
	case *admissionv1.ValidatingAdmissionPolicy:
		obj = o.Spec
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		obj = o.Spec
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return ""
	}
	canonical := jsontext.Value(text)
	if err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return ""
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])[:hashDigits]
}
