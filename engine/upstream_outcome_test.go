package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/warning"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/replay"
)

// outcome is what either side made of one (policy, binding, params).
type outcome struct {
	Policy, Binding, Params string
	ConfigError             string
	Skipped                 bool
	// Decisions are those that are no pass.
	Decisions []string
	// AnnotationError is the first audit annotation that rejects the request.
	AnnotationError string
}

// dispatched is what either side made of a request.
type dispatched struct {
	Outcomes    []*outcome
	Annotations map[string]string
	Warnings    []string
	Err         error
}

func outcomeOf(r validating.ValidateResult, validations int) *outcome {
	o := &outcome{Skipped: len(r.Decisions) == 0 && validations > 0}
	for i, d := range r.Decisions {
		switch d.Evaluation {
		case validating.EvalDeny:
			o.Decisions = append(o.Decisions, fmt.Sprintf("%d Fail %s %s", i, d.Reason, d.Message))
		case validating.EvalError:
			o.Decisions = append(o.Decisions, fmt.Sprintf("%d Error ignored=%t %s", i, d.Action == validating.ActionAdmit, d.Message))
		}
	}
	for _, a := range r.AuditAnnotations {
		if a.Action == validating.AuditAnnotationActionError && o.AnnotationError == "" {
			o.AnnotationError = a.Error
		}
	}
	return o
}

// decided is a Decision in which nothing is unknown, in the same form.
func decided(d engine.Decision) *dispatched {
	out := &dispatched{Annotations: d.Annotations}
	for _, e := range d.Evaluations {
		o := &outcome{Policy: e.Policy, Binding: e.Binding, ConfigError: e.ConfigError, Skipped: e.Result == engine.Skipped, AnnotationError: e.AnnotationError}
		if e.Params != nil {
			o.Params = e.Params.Namespace + "/" + e.Params.Name
		}
		for _, v := range e.Verdicts {
			o.Decisions = append(o.Decisions, decision(v))
			if slices.Contains(e.ValidationActions, "Warn") && (v.Result == engine.Fail || !v.Ignored) {
				out.Warnings = append(out.Warnings, fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", e.Policy, e.Binding, v.Message))
			}
		}
		if e.Effect == "Deny" {
			out.Err = fmt.Errorf("%s denies", e.Policy)
		}
		out.Outcomes = append(out.Outcomes, o)
	}
	return out
}

func decision(v engine.Verdict) string {
	switch v.Result {
	case engine.Fail:
		return fmt.Sprintf("%d Fail %s %s", v.ExpressionIndex, v.Reason, v.Message)
	case engine.Error:
		return fmt.Sprintf("%d Error ignored=%t %s", v.ExpressionIndex, v.Ignored, v.Message)
	default:
		return fmt.Sprintf("%d %s %s", v.ExpressionIndex, v.Result, v.Unknown)
	}
}

// collectWarnings makes a context whose warnings end in d.
func (d *dispatched) collectWarnings(ctx context.Context) context.Context {
	return warning.WithWarningRecorder(ctx, d)
}

// AddWarning implements warning.Recorder.
func (d *dispatched) AddWarning(_, text string) { d.Warnings = append(d.Warnings, text) }

// text is all there is to compare, in one order: that in which the apiserver evaluates params is random.
func (d *dispatched) text() []string {
	var out []string
	for _, o := range d.Outcomes {
		out = append(out, fmt.Sprintf("%+v", *o))
	}
	for key, value := range d.Annotations {
		if key == engine.FailureAnnotation {
			value = inOrder(value)
		}
		words := strings.Split(value, ", ")
		slices.Sort(words)
		out = append(out, fmt.Sprintf("annotation %s = %s", key, strings.Join(words, ", ")))
	}
	slices.Sort(out)
	warnings := slices.Clone(d.Warnings)
	slices.Sort(warnings)
	return append(append(out, warnings...), fmt.Sprintf("denied: %t", d.Err != nil))
}

// inOrder sorts the entries of the failure annotation.
func inOrder(value string) string {
	var failures []json.RawMessage
	if err := json.Unmarshal([]byte(value), &failures); err != nil {
		return value
	}
	slices.SortFunc(failures, func(a, b json.RawMessage) int { return cmp.Compare(string(a), string(b)) })
	return compact(failures)
}

// compareUpstream asks the apiserver's plugin about a request of a file too.
func compareUpstream(t *testing.T, f *ruleFile, req *replay.Request, got engine.Decision) {
	c, err := newCluster(f.minor, f.cluster, req.View.Resources())
	if err != nil {
		t.Fatal(err)
	}
	u, err := newUpstream(f.minor, f.policies, f.bindings, c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := u.differs(req, got); diff != "" {
		t.Error(diff)
	}
}

// differs says in what a decision of the engine is not the apiserver's; it is empty where they agree.
func (u *upstream) differs(req *replay.Request, got engine.Decision) string {
	want, err := u.dispatch(req)
	if err != nil {
		return err.Error()
	}
	if diff := gocmp.Diff(want.text(), decided(got).text()); diff != "" {
		return fmt.Sprintf("not as the apiserver's own code (-apiserver +engine):\n%s\napiserver's error: %v", diff, want.Err)
	}
	return ""
}
