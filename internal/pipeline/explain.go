package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/ingest/file"
	"github.com/vapshadow/vapshadow/replay"
)

type (
	// Explanation is the engine's: those that write it need not know the engine.
	Explanation = engine.Explanation
	// ExplainedRequest is a part of an Explanation.
	ExplainedRequest = engine.ExplainedRequest
	// ExplainedMatch is a part of an Explanation.
	ExplainedMatch = engine.ExplainedMatch
	// ExplainedPolicy is a part of an Explanation.
	ExplainedPolicy = engine.ExplainedPolicy
	// ExplainedBinding is a part of an Explanation.
	ExplainedBinding = engine.ExplainedBinding
	// ExplainedEvaluation is a part of an Explanation.
	ExplainedEvaluation = engine.ExplainedEvaluation
	// ExplainedPhase is a part of an Explanation.
	ExplainedPhase = engine.ExplainedPhase
	// ExplainedExpression is a part of an Explanation.
	ExplainedExpression = engine.ExplainedExpression
	// ExplainedUnknownPart is a part of an Explanation.
	ExplainedUnknownPart = engine.ExplainedUnknown
)

// Explained is one event of the log, and how each policy came to its verdicts on the requests that it stands for.
type Explained struct {
	AuditID string `json:"auditID"`
	// At is where the event was found.
	At                string `json:"at"`
	KubernetesVersion string `json:"kubernetesVersion"`
	// Requests are several for a deletecollection, one an object; none where it found nothing to delete.
	Requests []Explanation `json:"requests"`
	// Refused are the policies and bindings that an apiserver would refuse.
	Refused  []string `json:"refused,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Explain finds the admission request with an audit ID in the log, and tells how each policy came to its verdict on it.
// It reads the log until some way after the event: what was before, and what went on meanwhile, is part of the answer. An
// audit ID that is not there gives a NotFoundError.
func Explain(ctx context.Context, cfg ReplayConfig, auditID string) (*Explained, error) {
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
	defer func() { _ = source.Close() }()
	x := &explainer{
		replayer: replayer, fixed: len(cfg.Policies) > 0, policies: newTimeline(cfg.Minor, eng), notFound: NotFoundError{AuditID: auditID},
		out: &Explained{AuditID: auditID, KubernetesVersion: fmt.Sprintf("1.%d", cfg.Minor), Requests: []Explanation{}},
	}
	f := &flow{cfg: cfg, source: source, replayer: replayer, result: result, look: x.look, whole: true}
	switch err := f.run(ctx); {
	case errors.Is(err, errExplained):
	case err != nil:
		return nil, err
	default:
		x.notFound.Events = result.Events
		for _, n := range result.Skipped {
			x.notFound.Skipped += n
		}
		return nil, &x.notFound
	}
	x.out.Refused, x.out.Warnings = result.Refusals, append(result.Warnings, x.policies.notes...)
	return x.out, nil
}

// errExplained ends the reading of the log.
var errExplained = errors.New("the request is explained")

// explainer looks for an event.
type explainer struct {
	replayer *replay.Replayer
	// fixed: the policies are given, and stay as they are whatever the log shows.
	fixed    bool
	policies *timeline
	notFound NotFoundError
	out      *Explained
}

// look looks for the event in a batch.
func (x *explainer) look(b *batch) error {
	for _, d := range b.events {
		switch {
		case d.Event.AuditID != x.out.AuditID:
		case d.Operation == "":
			x.notFound.add(d)
		default:
			return x.explain(d)
		}
	}
	return nil
}

func (x *explainer) explain(d *replay.Decoded) error {
	x.out.At = d.Event.At.String()
	for _, req := range x.replayer.Requests(d) {
		if x.fixed {
			x.out.Requests = append(x.out.Requests, x.policies.base.Explain(req))
			continue
		}
		explanation, err := x.policies.explain(req)
		if err != nil {
			return err
		}
		x.out.Requests = append(x.out.Requests, explanation)
	}
	return errExplained
}

// explain does what evaluate does, and tells how.
func (t *timeline) explain(req *replay.Request) (engine.Explanation, error) {
	engines, touched, err := t.at(req.View, req.View.Policies())
	if err != nil {
		return engine.Explanation{}, err
	}
	if len(touched) == 0 {
		return engines[0].Explain(req), nil
	}
	states := make([]engine.Explanation, len(engines))
	for i, e := range engines {
		states[i] = e.Explain(req)
	}
	return engine.ExplainChanging(states, touched), nil
}

// Only leaves out all policies but those named. A name that is no policy's is an error.
func (x *Explained) Only(names []string) error {
	for i := range x.Requests {
		r := &x.Requests[i]
		known := map[string]bool{}
		for _, p := range r.Policies {
			known[p.Policy] = true
		}
		for _, o := range r.Others {
			known[o.Policy] = true
		}
		for _, name := range names {
			if !known[name] {
				return fmt.Errorf("there is no policy %q when the request is made: look for it in --policies and --cluster%s", name, x.refusal())
			}
		}
		r.Policies = slices.DeleteFunc(r.Policies, func(p ExplainedPolicy) bool { return !slices.Contains(names, p.Policy) })
		r.Others = slices.DeleteFunc(r.Others, func(o engine.OtherPolicy) bool { return !slices.Contains(names, o.Policy) })
	}
	return nil
}

func (x *Explained) refusal() string {
	if len(x.Refused) == 0 {
		return ""
	}
	return "; refused were: " + strings.Join(x.Refused, "; ")
}
