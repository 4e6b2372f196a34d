package policy

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultPolicy sets what an apiserver sets where a policy leaves it out. All versions have the same defaults.
func defaultPolicy(p *admissionv1.ValidatingAdmissionPolicy) {
	setDefault(&p.Spec.FailurePolicy, admissionv1.Fail)
	defaultMatch(p.Spec.MatchConstraints)
}

// defaultBinding does the same for a binding. Only v1alpha1 has a default for params that are not found.
func defaultBinding(b *admissionv1.ValidatingAdmissionPolicyBinding, version string) {
	if version == "v1alpha1" && b.Spec.ParamRef != nil {
		setDefault(&b.Spec.ParamRef.ParameterNotFoundAction, admissionv1.DenyAction)
	}
	defaultMatch(b.Spec.MatchResources)
}

func defaultMatch(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	setDefault(&m.MatchPolicy, admissionv1.Equivalent)
	setDefault(&m.NamespaceSelector, metav1.LabelSelector{})
	setDefault(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]admissionv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			setDefault(&rules[i].Scope, admissionv1.AllScopes)
		}
	}
}

func setDefault[T any](to **T, value T) {
	if *to == nil {
		*to = &value
	}
}
