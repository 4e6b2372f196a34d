package engine

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/vapshadow/vapshadow/replay"
)

// Result is what a verdict or an evaluation came to.
type Result string

const (
	Pass    Result = "Pass"
	Fail    Result = "Fail"
	Error   Result = "Error"
	Unknown Result = "Unknown"
	// Skipped: a match condition is false.
	Skipped Result = "Skipped"
)

const reasonInvalid = "Invalid"

// Verdict is the result of one validation.
type Verdict struct {
	ExpressionIndex int
	Result          Result
	Message         string
	Reason          string
	// Ignored: failurePolicy Ignore let the error through.
	Ignored bool
	// Unknown are the attributes that an Unknown hangs on, Because why the first of them is not known.
	Unknown []string
	Because replay.Reason
	// Repeats: the object failed so before the update, which left what the failure hangs on as it was. It is false where
	// that is not known.
	Repeats bool
}

// Params names the object that a binding's paramRef found.
type Params struct{ Namespace, Name string }

// Evaluation is the result of one (policy, binding, params) on one request.
type Evaluation struct {
	Policy, Binding string
	Params          *Params
	// PolicyHash, BindingHash and ParamsHash name the states that decided: those of Texts, and that of the params. They
	// are empty where there is none, or where it is not known which it was or what is in it.
	PolicyHash, BindingHash, ParamsHash string
	ValidationActions                   []string
	Result                              Result
	// Evidence is the weakest of the inputs that were read.
	Evidence replay.Level
	// ConfigError is why the policy could not be evaluated at all.
	ConfigError string
	// Unknown and Because stand for the evaluation as a whole, where it is not known whether it took place.
	Unknown []string
	Because replay.Reason
	// Effect is what the apiserver would have done: Deny, Warn, Audit or nothing, the strongest of them.
	Effect string
	// BlocksAnyway: the request is rejected whatever validationActions say.
	BlocksAnyway bool
	// AnnotationError is the first error of an audit annotation that rejects the request.
	AnnotationError string
	// Verdicts are those of the validations that did not pass.
	Verdicts []Verdict

	failClosed  bool
	annotations []annotation
}

// annotation is what an audit annotation of a policy came to.
type annotation struct{ key, value string }

func newBinding(b *admissionv1.ValidatingAdmissionPolicyBinding, text Text) *compiledBinding {
	c := &compiledBinding{binding: b, text: text, acts: make([]string, len(b.Spec.ValidationActions))}
	for i, a := range b.Spec.ValidationActions {
		c.acts[i] = string(a)
	}
	return c
}

// settle works out the result and the effect of an evaluation from its verdicts.
func (e *Evaluation) settle() {
	if e.Result == "" {
		e.Result = Pass
	}
	for _, v := range e.Verdicts {
		if rank(v.Result) > rank(e.Result) {
			e.Result = v.Result
		}
	}
	if e.BlocksAnyway {
		e.Effect = string(admissionv1.Deny)
		return
	}
	denies := slices.ContainsFunc(e.Verdicts, func(v Verdict) bool { return v.denies() })
	if denies {
		e.Effect = strongest(e.ValidationActions)
	}
}

// denies says whether a verdict sets the binding's actions off.
func (v Verdict) denies() bool { return v.Result == Fail || v.Result == Error && !v.Ignored }

// rank orders results by how bad they are for the request.
func rank(r Result) int { return slices.Index([]Result{Pass, Unknown, Error, Fail}, r) }

func strongest(actions []string) string {
	for _, a := range []admissionv1.ValidationAction{admissionv1.Deny, admissionv1.Warn, admissionv1.Audit} {
		if slices.Contains(actions, string(a)) {
			return string(a)
		}
	}
	return ""
}
