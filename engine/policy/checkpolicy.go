package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of a policy.
const (
	maxMatchConditions = 64
	maxAnnotations     = 20
	// maxValueExpression is in bytes.
	maxValueExpression = 5 << 10
)

// policy checks a policy that has its defaults.
func (c *checker) policy(p *admissionv1.ValidatingAdmissionPolicy) {
	c.metadata(&p.ObjectMeta)
	path, spec := field.NewPath("spec"), &p.Spec
	oneOf(c, path.Child("failurePolicy"), spec.FailurePolicy, admissionv1.Fail, admissionv1.Ignore)
	if spec.ParamKind != nil {
		c.paramKind(spec.ParamKind, path.Child("paramKind"))
	}
	if constraints := path.Child("matchConstraints"); spec.MatchConstraints == nil {
		c.required(constraints, "")
	} else {
		c.match(spec.MatchConstraints, constraints)
		if len(spec.MatchConstraints.ResourceRules) == 0 {
			c.required(constraints.Child("resourceRules"), "")
		}
	}
	s := c.expressions.of(spec)
	c.matchConditions(s, spec.MatchConditions, path.Child("matchConditions"))
	for i := range spec.Variables {
		c.variable(s, &spec.Variables[i], path.Child("variables").Index(i))
	}
	if len(spec.Validations) == 0 && len(spec.AuditAnnotations) == 0 {
		const neither = "validations or auditAnnotations must contain at least one item"
		c.required(path.Child("validations"), neither)
		c.required(path.Child("auditAnnotations"), neither)
	}
	for i := range spec.Validations {
		c.validation(s, &spec.Validations[i], path.Child("validations").Index(i))
	}
	c.auditAnnotations(s, p.Name, spec.AuditAnnotations, path.Child("auditAnnotations"))
	c.staticName(p.Name)
}

func (c *checker) metadata(meta *metav1.ObjectMeta) {
	c.add(apivalidation.ValidateObjectMeta(meta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
}

func (c *checker) paramKind(kind *admissionv1.ParamKind, path *field.Path) {
	c.paramVersion(kind.APIVersion, path.Child("apiVersion"))
	at := path.Child("kind")
	if kind.Kind == "" {
		c.required(at, "")
	} else if details := validation.IsDNS1035Label(strings.ToLower(kind.Kind)); len(details) > 0 {
		c.invalid(at, kind.Kind, "may have mixed case, but should otherwise match: "+strings.Join(details, ","))
	}
}

// paramVersion checks the group and version of params. An error names the part that is wrong, not the whole.
func (c *checker) paramVersion(apiVersion string, path *field.Path) {
	if apiVersion == "" {
		c.required(path, "")
		return
	}
	if strings.Count(apiVersion, "/") > 1 {
		c.invalid(path, apiVersion, "unexpected GroupVersion string: "+apiVersion)
		return
	}
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", apiVersion
	}
	if group != "" {
		if details := validation.IsDNS1123Subdomain(group); len(details) > 0 {
			c.invalid(path, group, strings.Join(details, ","))
		}
	}
	if version == "" {
		c.invalid(path, apiVersion, "version must be specified")
	} else if details := validation.IsDNS1035Label(version); len(details) > 0 {
		c.invalid(path, version, strings.Join(details, ","))
	}
}

func (c *checker) matchConditions(s *scope, conditions []admissionv1.MatchCondition, path *field.Path) {
	if len(conditions) > maxMatchConditions {
		c.add(field.TooMany(path, len(conditions), maxMatchConditions))
	}
	seen := map[string]bool{}
	for i, condition := range conditions {
		at := path.Index(i)
		if expression := strings.TrimSpace(condition.Expression); expression == "" {
			c.required(at.Child("expression"), "")
		} else {
			c.compiles(s.condition(expression), at.Child("expression"), expression)
		}
		if condition.Name == "" {
			c.required(at.Child("name"), "")
			continue
		}
		c.qualifiedName(condition.Name, at.Child("name"))
		if seen[condition.Name] {
			c.add(field.Duplicate(at.Child("name"), condition.Name))
		}
		seen[condition.Name] = true
	}
}

func (c *checker) qualifiedName(name string, path *field.Path) {
	for _, detail := range validation.IsQualifiedName(name) {
		c.invalid(path, name, detail)
	}
}

// Words that CEL keeps for itself cannot be names of variables.
var (
	identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)
	reserved   = strings.Fields("true false null in as break const continue else for function if import let loop package namespace return var void while")
)

func (c *checker) variable(s *scope, v *admissionv1.Variable, path *field.Path) {
	if strings.TrimSpace(v.Name) == "" {
		c.required(path.Child("name"), "name is not specified")
	} else if !identifier.MatchString(v.Name) || slices.Contains(reserved, v.Name) {
		c.invalid(path.Child("name"), v.Name, c.since(minorOfShorterMessages, "must be a valid CEL identifier", "name is not a valid CEL identifier"))
	}
	if strings.TrimSpace(v.Expression) == "" {
		c.required(path.Child("expression"), "expression is not specified")
		return
	}
	c.compiles(s.variable(v.Name, v.Expression), path.Child("expression"), v.Expression)
}

func (c *checker) validation(s *scope, v *admissionv1.Validation, path *field.Path) {
	if strings.TrimSpace(v.Expression) == "" {
		c.required(path.Child("expression"), "expression is not specified")
	} else {
		c.compiles(s.compile(v.Expression, cel.BoolType), path.Child("expression"), v.Expression)
	}
	if at := path.Child("messageExpression"); v.MessageExpression != "" && strings.TrimSpace(v.MessageExpression) == "" {
		c.invalid(at, v.MessageExpression, "must be non-empty if specified")
	} else if v.MessageExpression != "" {
		c.compiles(s.message(v.MessageExpression), at, v.MessageExpression)
	}
	switch message := strings.TrimSpace(v.Message); {
	case v.Message != "" && message == "":
		c.invalid(path.Child("message"), v.Message, c.since(minorOfShorterMessages, "", "message ")+"must be non-empty if specified")
	case strings.ContainsAny(message, "\n\r"):
		c.invalid(path.Child("message"), v.Message, c.since(minorOfShorterMessages, "", "message ")+"must not contain line breaks")
	}
	if v.Reason != nil {
		oneOf(c, path.Child("reason"), v.Reason, metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge)
	}
}

func (c *checker) auditAnnotations(s *scope, policy string, annotations []admissionv1.AuditAnnotation, path *field.Path) {
	if len(annotations) > maxAnnotations {
		c.invalid(path, c.annotationList(annotations), fmt.Sprintf("must not have more than %d auditAnnotations", maxAnnotations))
	}
	seen := map[string]bool{}
	for i, a := range annotations {
		key := path.Index(i).Child("key")
		if policy == "" {
			c.invalid(key, a.Key, "requires metadata.name be non-empty")
		} else {
			c.qualifiedName(policy+"/"+a.Key, key)
		}
		value := path.Index(i).Child("valueExpression")
		switch trimmed := strings.TrimSpace(a.ValueExpression); {
		case trimmed == "":
			c.required(value, "valueExpression is not specified")
		case len(trimmed) > maxValueExpression:
			c.required(value, fmt.Sprintf("must not exceed %d bytes in length", maxValueExpression))
		default:
			c.compiles(s.compile(trimmed, cel.StringType, cel.NullType), value, a.ValueExpression)
		}
		if seen[a.Key] {
			c.add(field.Duplicate(key, a.Key))
		}
		seen[a.Key] = true
	}
}

// annotationList is how the annotations appear in a message: with the names that their fields have inside an apiserver.
func (c *checker) annotationList(annotations []admissionv1.AuditAnnotation) any {
	type annotation struct{ Key, ValueExpression string }
	out, before := make([]annotation, len(annotations)), make([]string, len(annotations))
	for i, a := range annotations {
		out[i] = annotation{a.Key, a.ValueExpression}
		before[i] = fmt.Sprintf("admissionregistration.AuditAnnotation{Key:%q, ValueExpression:%q}", a.Key, a.ValueExpression)
	}
	if c.minor >= minorOfShorterMessages {
		return out
	}
	return goSyntax("[]admissionregistration.AuditAnnotation{" + strings.Join(before, ", ") + "}")
}
