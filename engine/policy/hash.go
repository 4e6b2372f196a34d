package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// hashDigits is how much of a hash is kept: enough to tell the versions of a policy apart.
const hashDigits = 16

// ContentHash tells versions of a policy or binding apart by what they say: it is a hash of the Text, and so the same
// wherever the object was read from. Of any other value, the whole is hashed. It is empty for what has no JSON form.
func ContentHash(obj any) string {
	_, hash := Text(obj)
	return hash
}

// Text is what a policy or binding says, as canonical JSON of a v1 object with its name and its defaulted spec, and the
// hash of that JSON. Both are empty for what has no JSON form.
func Text(obj any) (text, hash string) {
	switch o := obj.(type) {
	case Policy:
		return Text(o.ValidatingAdmissionPolicy)
	case Binding:
		return Text(o.ValidatingAdmissionPolicyBinding)
	case *admissionv1.ValidatingAdmissionPolicy:
		obj = written(policyKind, o.Name, o.Spec)
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		obj = written(bindingKind, o.Name, o.Spec)
	}
	whole, err := json.Marshal(obj)
	if err != nil {
		return "", ""
	}
	canonical := jsontext.Value(whole)
	if err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return "", ""
	}
	sum := sha256.Sum256(canonical)
	return string(canonical), hex.EncodeToString(sum[:])[:hashDigits]
}

// written is an object with what its author wrote: neither labels nor what an apiserver adds.
func written(kind, name string, spec any) map[string]any {
	return map[string]any{"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}
}
