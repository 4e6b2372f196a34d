package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	authz "k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/vapshadow/vapshadow/engine/rbac"
	"github.com/vapshadow/vapshadow/replay"
)

// authorizer answers `authorizer` from RBAC as it was, and remembers whether it was asked what it could not answer.
type authorizer struct {
	// states are those that RBAC can have been in: more than one while it was being written.
	states  []*rbac.Snapshot
	because replay.Reason
	unknown bool
}

func (a *authorizer) reset() {
	if a != nil {
		a.unknown = false
	}
}

// asked says whether something was asked since the last reset that could not be answered.
func (a *authorizer) asked() bool { return a != nil && a.unknown }

// Authorize implements authorizer.UnconditionalAuthorizer. It answers where all states agree, to the words of the reason.
func (a *authorizer) Authorize(ctx context.Context, attributes authz.Attributes) (authz.Decision, string, error) {
	decision, reason, err := a.states[0].Authorize(ctx, attributes)
	if unknowable, ok := errors.AsType[rbac.ErrUnknown](err); ok {
		a.unknown, a.because = true, replay.Reason(unknowable.Because)
	}
	for _, other := range a.states[1:] {
		d, r, e := other.Authorize(ctx, attributes)
		if d != decision || r != reason || fmt.Sprint(e) != fmt.Sprint(err) {
			a.unknown, a.because = true, replay.Changing
		}
	}
	return decision, reason, err
}

// userOf is the user of a request as authorizers see it.
func userOf(req *replay.Request) user.Info {
	return &user.DefaultInfo{Name: req.User.Username, UID: req.User.UID, Groups: req.User.Groups, Extra: req.User.Extra}
}

// requestResource is what `authorizer.requestResource` is about.
type requestResource struct{ *replay.Request }

// GetResource implements library.Resource.
func (r requestResource) GetResource() schema.GroupVersionResource { return r.Resource }

func (r requestResource) GetName() string        { return r.Name }
func (r requestResource) GetNamespace() string   { return r.Namespace }
func (r requestResource) GetSubresource() string { return r.SubResource }

// snapshots are the states of RBAC, each made from the one before it by one change.
type snapshots struct {
	minor int
	mu    sync.Mutex
	order int
	after []*rbac.Snapshot // after[n] holds the first n changes
}

// get returns the states that RBAC can have been in: with the changes that had taken effect, and then with each of those
// that may have, one by one and together.
func (s *snapshots) get(view replay.View, state replay.ChangeState) ([]*rbac.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.after == nil || s.order != state.Order {
		s.after, s.order = []*rbac.Snapshot{rbac.New().AsOf(s.minor)}, state.Order
	}
	last := state.Changes + state.Pending
	if last < len(s.after) && state.Pending == 0 {
		return s.after[last : last+1], nil
	}
	changes := view.RBACChanges(last)
	for _, c := range changes[min(len(s.after)-1, last):] {
		next, err := apply(s.after[len(s.after)-1], c)
		if err != nil {
			return nil, err
		}
		s.after = append(s.after, next)
	}
	states := slices.Clone(s.after[state.Changes : last+1])
	for _, c := range changes[state.Changes:] {
		alone, err := apply(states[0], c)
		if err != nil {
			return nil, err
		}
		states = append(states, alone)
	}
	return states, nil
}

func apply(s *rbac.Snapshot, c replay.Change) (*rbac.Snapshot, error) {
	if c.Content == nil {
		return s.Without(c.Kind, c.Namespace, c.Name), nil
	}
	next, err := s.With(c.Content)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", c.Kind, c.Name, err)
	}
	return next, nil
}
