package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// FailureAnnotation is the audit annotation in which an apiserver lists the failures of bindings with Audit.
const FailureAnnotation = "validation.policy.admission.k8s.io/validation_failure"

const (
	// An apiserver lists at most so many failures.
	maxFailures = 50
	// The value of an audit annotation is cut at so many bytes.
	maxAnnotationBytes = 10 * 1024
)

// annotate evaluates the audit annotations, with a budget of their own. They see the whole Namespace. With failurePolicy
// Fail an annotation that cannot be made rejects the request, whatever validationActions say.
func (r *run) annotate() {
	if len(r.policy.annotations) == 0 {
		return
	}
	act := r.activation(r.matched, wholeNamespace, false)
	defer r.done(act)
	p := newPhase(r.policy, act, nil, celconfig.RuntimeCELCostBudget)
	r.further = true
	for _, a := range r.policy.annotations {
		o, err := p.eval(a.expression)
		if err != nil {
			// The apiserver forgets the validations too.
			r.fail(err.Error())
			r.out.annotations, r.out.BlocksAnyway, r.out.AnnotationError = nil, false, ""
			r.out.Unknown, r.out.Because = nil, ""
			return
		}
		r.annotation(a, o)
	}
}

func (r *run) annotation(a namedExpression, o outcome) {
	switch {
	case o.unknown != nil:
		if on, because := r.hangs(o.unknown); r.out.Because == "" {
			r.out.Unknown, r.out.Because = on, because
		}
	case o.err != nil:
		r.blocks(o.err.Error())
	case o.value == types.NullValue:
	default:
		value, ok := o.value.Value().(string)
		if !ok {
			r.out.BlocksAnyway = true
			r.out.annotationError(fmt.Sprintf("valueExpression '%v' resulted in unsupported return type: %v. Return type must be either string or null.", a.source, o.value.Type()))
			return
		}
		if value = strings.TrimSpace(value); value != "" {
			r.out.annotations = append(r.out.annotations, annotation{a.name, value[:min(len(value), maxAnnotationBytes)]})
		}
	}
}

func (r *run) blocks(message string) {
	if !r.policy.failClosed {
		return
	}
	r.out.BlocksAnyway = true
	r.out.annotationError(message)
}

func (e *Evaluation) annotationError(message string) {
	if e.AnnotationError == "" {
		e.AnnotationError = message
	}
}

// failure is one entry of the FailureAnnotation.
type failure struct {
	Message           string   `json:"message"`
	Policy            string   `json:"policy"`
	Binding           string   `json:"binding"`
	ExpressionIndex   int      `json:"expressionIndex"`
	ValidationActions []string `json:"validationActions"`
}

// annotations are what an apiserver would have written to the audit event of a request.
func annotations(evaluations []Evaluation) map[string]string {
	out := map[string]string{}
	values := map[string][]string{}
	var failures []failure
	for _, e := range evaluations {
		for _, a := range e.annotations {
			if key := e.Policy + "/" + a.key; !slices.Contains(values[key], a.value) {
				values[key] = append(values[key], a.value)
			}
		}
		failures = append(failures, e.audited()...)
	}
	for key, v := range values {
		out[key] = strings.Join(v, ", ")
	}
	if len(failures) > 0 {
		out[FailureAnnotation] = failureList(failures[:min(len(failures), maxFailures)])
	}
	return out
}

func (e *Evaluation) audited() []failure {
	if !slices.Contains(e.ValidationActions, string(admissionv1.Audit)) {
		return nil
	}
	var out []failure
	for _, v := range e.Verdicts {
		if v.denies() {
			out = append(out, failure{v.Message, e.Policy, e.Binding, v.ExpressionIndex, e.ValidationActions})
		}
	}
	return out
}

func failureList(failures []failure) string {
	out, err := json.Marshal(failures)
	if err != nil {
		return "" // Strings and numbers can always be written as JSON.
	}
	return string(out)
}
