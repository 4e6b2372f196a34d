package pipeline

import (
	"context"
	"time"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/ingest/file"
	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/sink"
)

// Agreement is how far the decisions that the apiserver wrote to its audit log are vapshadow's own. A decision is that
// of one policy and binding on the request of one event.
type Agreement struct {
	*Result
	// Compared and Annotations are ordered by name.
	Compared    []PairAgreement
	Annotations []AnnotationAgreement
	// OneFailure: such an apiserver records no more than one failure of a request.
	OneFailure bool
	// Recorded are the events that hold a decision: a failure, an audit annotation of a policy, or a rejection.
	Recorded int64
	// UndecidedBecause counts the undecided decisions by what vapshadow did not know.
	UndecidedBecause map[string]int64
	// NotGiven are policies and bindings whose decisions the log holds, but which were not to be evaluated.
	NotGiven []NotGiven
	// Unfinished are the requests with a decision whose end the log does not hold.
	Unfinished int64
	// Notes say what may explain a disagreement.
	Notes []string

	// log names the log, policies the texts that were evaluated.
	log, policies string
}

// PairAgreement counts the decisions of one policy with one of its bindings. Binding is empty where the policy is
// misconfigured as a whole.
type PairAgreement struct {
	Policy, Binding string
	// Failed and Passed are the decisions that both sides came to.
	Failed, Passed int64
	Disagreed      int64
	// Undecided: the log holds a decision, and not what vapshadow needs to come to its own.
	Undecided int64
	// NotRecorded: the log has no place for the decision, or another one took it.
	NotRecorded int64
	// Reordered are those of Failed whose messages have the same words in another order.
	Reordered int64
	reasons
}

// AnnotationAgreement counts the values of one audit annotation of a policy, where at least one side has it.
type AnnotationAgreement struct {
	Policy, Key       string
	Agreed, Disagreed int64
	Undecided         int64
	// NotRecorded: the apiserver cut the value, so that its end is not in the log.
	NotRecorded int64
	// Reordered are those of Agreed that have the same words in another order.
	Reordered int64
	reasons
}

// NotGiven is a policy with a binding that the log names and nothing else does.
type NotGiven struct {
	Policy, Binding string
	Events          int64
}

// Disagreement is one validation, rejection or audit annotation on which the two sides differ.
type Disagreement struct {
	AuditID              string
	StageTimestamp       time.Time
	Operation            string
	Group, Resource      string
	SubResource          string
	Namespace, Name      string
	Policy, Binding      string
	Annotation           string // the key, where it is about the value of an audit annotation
	ExpressionIndex      *int   // where it is about a validation
	Apiserver, Vapshadow Said
	// ApiserverMessage and VapshadowMessage are the message of a failure or a rejection, or the value of an annotation.
	ApiserverMessage, VapshadowMessage string
	// ApiserverActions and VapshadowActions are the validationActions of a failure.
	ApiserverActions, VapshadowActions []string
}

// Said is what one side says of a validation, a request or an audit annotation.
type Said string

const (
	SaidFail Said = "Fail"
	// SaidPass: a validation held, or nothing is recorded of it.
	SaidPass Said = "Pass"
	// SaidDeny and SaidAdmit are about the request as a whole.
	SaidDeny  Said = "Deny"
	SaidAdmit Said = "Admit"
	// SaidSkipped: a match condition is false.
	SaidSkipped Said = "Skipped"
	// SaidNotMatched: the match constraints do not match.
	SaidNotMatched Said = "NotMatched"
	// SaidNotAdmission: policies are not shown such a request.
	SaidNotAdmission Said = "NotAdmission"
	// SaidValue and SaidNoValue are about an audit annotation.
	SaidValue   Said = "Value"
	SaidNoValue Said = "NoValue"
)

// Verify replays an audit log and compares each decision that the apiserver recorded in it with vapshadow's own. Each
// disagreement is handed on in the order of the log. The Records of cfg may be nil.
func Verify(ctx context.Context, cfg ReplayConfig, disagreed func(Disagreement)) (*Agreement, error) {
	if cfg.Records == nil {
		cfg.Records = func(*sink.Record) error { return nil }
	}
	result := newResult()
	replayer, err := recall(cfg)
	if err != nil {
		return nil, err
	}
	eng, err := load(cfg, replayer, result)
	if err != nil {
		return nil, err
	}
	source, err := file.Open(cfg.AuditLog, file.Options{Stdin: cfg.Stdin})
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }() // It was only read.
	policies := newTimeline(cfg.Minor, eng)
	f := &flow{cfg: cfg, source: source, replayer: replayer, decide: policies.evaluate, result: result, whole: true}
	if len(cfg.Policies) > 0 {
		f.decide = fixed(eng)
	}
	c := newComparison(cfg.Minor, policies, disagreed)
	f.compare = func(d *replay.Decoded, records []*sink.Record) { c.event(d.Event, string(d.NotAdmission), records) }
	if err := f.run(ctx); err != nil {
		return nil, err
	}
	result.Pairs = policies.last().Pairs()
	result.Warnings = append(result.Warnings, policies.notes...)
	a := c.agreement(result)
	if a.policies = policiesName(policies.last().Texts()); len(cfg.Policies) > 0 {
		a.policies = policiesName(eng.Texts())
	}
	return a, nil
}

// pairs lists the policies and bindings of every state so far, those that are no more too.
func (t *timeline) pairs() []engine.Pair {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []engine.Pair
	for _, e := range t.engines {
		out = append(out, e.Pairs()...)
	}
	return out
}
