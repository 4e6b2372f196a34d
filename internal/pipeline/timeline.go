package pipeline

import (
	"fmt"
	"sync"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/engine/policy"
	"github.com/vapshadow/vapshadow/internal/manifest"
	"github.com/vapshadow/vapshadow/replay"
)

// timeline evaluates each request with the policies as they were when it was admitted: those of the snapshot, and what
// the log's own events have made of them.
type timeline struct {
	minor int
	base  *engine.Engine // of the snapshot

	mu    sync.Mutex
	order int
	// engines[n] has the first n changes in effect; touched[n] names the policies that change n makes a difference to.
	engines []*engine.Engine
	touched [][]string
	// notes tell of changes that cannot be used, once each.
	notes []string
	noted map[string]bool
}

func newTimeline(minor int, base *engine.Engine) *timeline {
	return &timeline{minor: minor, base: base, engines: []*engine.Engine{base}, noted: map[string]bool{}}
}

func (t *timeline) evaluate(req *replay.Request) (engine.Decision, error) {
	state := req.View.Policies()
	if state.Changes == 0 && state.Pending == 0 {
		return t.base.Evaluate(req), nil
	}
	engines, touched, err := t.at(req.View, state)
	if err != nil {
		return engine.Decision{}, err
	}
	if len(touched) == 0 {
		return engines[0].Evaluate(req), nil
	}
	decisions := make([]engine.Decision, len(engines))
	for i, e := range engines {
		decisions[i] = e.Evaluate(req)
	}
	return engine.Changing(decisions, touched), nil
}

// at returns the engines that can have decided, and the policies on which they may differ.
func (t *timeline) at(view replay.View, state replay.ChangeState) ([]*engine.Engine, map[string]bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.order != state.Order {
		t.order, t.engines, t.touched = state.Order, []*engine.Engine{t.base}, nil
	}
	last := state.Changes + state.Pending
	if last >= len(t.engines) {
		for _, c := range view.PolicyChanges(last)[len(t.engines)-1:] {
			next, touched, err := t.engines[len(t.engines)-1].With(t.read(c))
			if err != nil {
				return nil, nil, err
			}
			t.engines, t.touched = append(t.engines, next), append(t.touched, touched)
		}
	}
	touched := map[string]bool{}
	for _, names := range t.touched[state.Changes:last] {
		for _, name := range names {
			touched[name] = true
		}
	}
	return t.engines[state.Changes : last+1], touched, nil
}

// read reads the policy or binding that a change wrote. One that cannot be read counts as not shown.
func (t *timeline) read(c replay.Change) engine.Change {
	out := engine.Change{Kind: c.Kind, Name: c.Name, Hidden: c.Opaque}
	if c.Content == nil {
		if c.Opaque {
			t.note(fmt.Sprintf("%s %q was written by the request with audit ID %s, whose event holds no body: its verdicts are Unknown from then on (log admissionregistration.k8s.io at level RequestResponse)", c.Kind, c.Name, c.AuditID))
		}
		return out
	}
	version, _ := c.Content["apiVersion"].(string)
	set, refusals, _ := policy.Load([]manifest.Object{{APIVersion: version, Kind: c.Kind, Content: c.Content}}, policy.Options{Minor: t.minor, Stored: true})
	switch {
	case len(set.Policies) == 1:
		out.Policy = set.Policies[0].ValidatingAdmissionPolicy
	case len(set.Bindings) == 1:
		out.Binding = set.Bindings[0].ValidatingAdmissionPolicyBinding
	default:
		out.Hidden = true
		for _, r := range refusals {
			t.note(fmt.Sprintf("%s %q as written by the request with audit ID %s: %v", c.Kind, c.Name, c.AuditID, r.Err))
		}
	}
	return out
}

func (t *timeline) note(text string) {
	if !t.noted[text] {
		t.noted[text] = true
		t.notes = append(t.notes, text)
	}
}

// last is the state of the policies at the end of the log.
func (t *timeline) last() *engine.Engine {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.engines[len(t.engines)-1]
}
