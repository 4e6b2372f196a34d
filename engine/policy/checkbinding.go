package policy

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// binding checks a binding that has its defaults.
func (c *checker) binding(b *admissionv1.ValidatingAdmissionPolicyBinding) {
	c.metadata(&b.ObjectMeta)
	path, spec := field.NewPath("spec"), &b.Spec
	if policyName := path.Child("policyName"); spec.PolicyName == "" {
		c.requiredByDeclaration(policyName, "")
	} else {
		for _, detail := range apivalidation.NameIsDNSSubdomain(spec.PolicyName, false) {
			c.invalid(policyName, spec.PolicyName, detail)
		}
	}
	if spec.ParamRef != nil {
		c.paramRef(spec.ParamRef, path.Child("paramRef"))
	}
	if spec.MatchResources != nil {
		c.match(spec.MatchResources, path.Child(c.since(minorOfMatchResources, "matchResources", "matchResouces")))
	}
	c.validationActions(spec.ValidationActions, path.Child("validationActions"))
	c.staticName(b.Name)
}

func (c *checker) paramRef(ref *admissionv1.ParamRef, path *field.Path) {
	const exclusive = "name and selector are mutually exclusive"
	if ref.Name != "" {
		for _, detail := range content.IsPathSegmentName(ref.Name) {
			c.invalid(path.Child("name"), ref.Name, detail)
		}
		if ref.Selector != nil {
			c.add(field.Forbidden(path.Child("name"), exclusive))
		}
	}
	if ref.Selector != nil {
		c.add(metav1validation.ValidateLabelSelector(ref.Selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
		if ref.Name != "" {
			c.add(field.Forbidden(path.Child("selector"), exclusive))
		}
	}
	if ref.Name == "" && ref.Selector == nil {
		c.required(path, "one of name or selector must be specified")
	}
	action := path.Child("parameterNotFoundAction")
	if ref.ParameterNotFoundAction == nil || *ref.ParameterNotFoundAction == "" {
		c.required(action, "")
		return
	}
	oneOf(c, action, ref.ParameterNotFoundAction, admissionv1.DenyAction, admissionv1.AllowAction)
}

func (c *checker) validationActions(actions []admissionv1.ValidationAction, path *field.Path) {
	for i, action := range actions {
		notSupported(c, path.Index(i), action, []admissionv1.ValidationAction{admissionv1.Audit, admissionv1.Deny, admissionv1.Warn})
		if slices.Contains(actions[:i], action) {
			c.add(field.Duplicate(path.Index(i), action))
		}
	}
	if slices.Contains(actions, admissionv1.Deny) && slices.Contains(actions, admissionv1.Warn) {
		c.invalid(path, list(c, actions, "admissionregistration.ValidationAction"),
			"must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)")
	}
	if len(actions) == 0 {
		c.requiredByDeclaration(path, "at least one validation action is required")
	}
}
