package engine

import (
	"cmp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/vapshadow/vapshadow/engine/policy"
)

// Text is a policy or binding as it is evaluated.
type Text struct {
	// Kind is ValidatingAdmissionPolicy or ValidatingAdmissionPolicyBinding.
	Kind, Name string
	// Hash is what evaluations name it by: see policy.ContentHash.
	Hash string
	// JSON is what the Hash was made of: the object in v1 with its name and its defaulted spec.
	JSON string
}

// Texts lists the policies and bindings that are evaluated, by kind and name.
func (e *Engine) Texts() []Text {
	var out []Text
	for _, c := range e.policies {
		out = append(out, e.texts[c.policy])
		for _, b := range c.bindings {
			out = append(out, b.text)
		}
	}
	slices.SortFunc(out, func(a, b Text) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), strings.Compare(a.Hash, b.Hash))
	})
	return out
}

// text makes the Text of a policy or binding, unless an earlier Engine has made it. The objects are never changed, so
// that the same pointer is the same text.
func (e *Engine) text(object any, earlier *Engine) Text {
	if earlier != nil {
		if t, ok := earlier.texts[object]; ok {
			e.texts[object] = t
			return t
		}
	}
	t := Text{}
	switch o := object.(type) {
	case *admissionv1.ValidatingAdmissionPolicy:
		t.Kind, t.Name = "ValidatingAdmissionPolicy", o.Name
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		t.Kind, t.Name = "ValidatingAdmissionPolicyBinding", o.Name
	}
	t.JSON, t.Hash = policy.Text(object)
	e.texts[object] = t
	return t
}
