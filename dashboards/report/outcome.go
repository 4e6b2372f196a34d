package report

import (
	"slices"

	"github.com/vapshadow/vapshadow/sink"
)

// The results of an evaluation, from the best to the worst.
const (
	resultSkipped = "Skipped"
	resultPass    = "Pass"
	resultUnknown = "Unknown"
	resultError   = "Error"
	resultFail    = "Fail"
)

var results = []string{resultSkipped, resultPass, resultUnknown, resultError, resultFail}

const (
	actionDeny  = "Deny"
	actionWarn  = "Warn"
	actionAudit = "Audit"
)

// outcome is what a policy and binding came to on one request, the evaluations for all params taken together.
type outcome struct {
	result string // the worst; empty before the first
	// denies: a failure, or an error that is not ignored, sets the binding's actions off.
	denies bool
	// blocks: the request is rejected whatever the actions are.
	blocks bool
	// fresh: something of this is no repeat of what the object failed before.
	fresh             bool
	deny, warn, audit bool
	presumed          bool
	because           string
	attributes        []string
	messages          []messageKey
}

func (o *outcome) stops() bool { return o.denies || o.blocks }

// repeats says whether all that stops the request only repeats.
func (o *outcome) repeats() bool { return o.stops() && !o.fresh }

// fold adds an evaluation.
func (o *outcome) fold(e *sink.Evaluation) {
	result := e.Result
	if !slices.Contains(results, result) {
		result = resultUnknown // of a later vapshadow: what it means is not known
	}
	denies := slices.ContainsFunc(e.Verdicts, denying)
	if (e.BlocksAnyway || denies) && worse(resultError, result) {
		result = resultError
	}
	if o.result == "" || worse(result, o.result) {
		o.result = result
	}
	if denies {
		o.denies = true
		o.deny = o.deny || slices.Contains(e.ValidationActions, actionDeny)
		o.warn = o.warn || slices.Contains(e.ValidationActions, actionWarn)
		o.audit = o.audit || slices.Contains(e.ValidationActions, actionAudit)
	}
	o.blocks = o.blocks || e.BlocksAnyway
	o.fresh = o.fresh || e.BlocksAnyway || slices.ContainsFunc(e.Verdicts, func(v sink.Verdict) bool { return denying(v) && !v.Repeats })
	o.presumed = o.presumed || e.Evidence != "Exact"
	o.foldUnknown(e)
	o.foldMessages(e)
}

// foldUnknown keeps the first reason, and all that hangs on something unknown.
func (o *outcome) foldUnknown(e *sink.Evaluation) {
	add := func(because string, attributes []string) {
		if o.because == "" {
			o.because = because
		}
		for _, a := range attributes {
			if !slices.Contains(o.attributes, a) {
				o.attributes = append(o.attributes, a)
			}
		}
	}
	add(e.Because, e.Unknown)
	for i := range e.Verdicts {
		if v := &e.Verdicts[i]; v.Result == resultUnknown {
			add(v.Because, v.Unknown)
		}
	}
}

// foldMessages keeps what would be said to whom is stopped, each message once.
func (o *outcome) foldMessages(e *sink.Evaluation) {
	add := func(message, result string) {
		key := messageKey{message: message, result: result}
		if message != "" && !slices.Contains(o.messages, key) {
			o.messages = append(o.messages, key)
		}
	}
	for i := range e.Verdicts {
		if v := e.Verdicts[i]; denying(v) {
			add(v.Message, v.Result)
		}
	}
	if e.BlocksAnyway {
		add(e.ConfigError, resultError)
		add(e.AnnotationError, resultError)
	}
}

func denying(v sink.Verdict) bool {
	return v.Result == resultFail || v.Result == resultError && !v.Ignored
}

func worse(a, b string) bool { return slices.Index(results, a) > slices.Index(results, b) }
