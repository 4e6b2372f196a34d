package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/internal/manifest"
	"github.com/vapshadow/vapshadow/replay"
)

// PoliciesConfig is where policies come from.
type PoliciesConfig struct {
	// Paths are files, globs and folders. They must be set, and hold a policy.
	Paths []string
	// Minor is the apiserver to be: 37 for Kubernetes 1.37.
	Minor int
	// Unbound evaluates policies without a binding as though bound to everything with [Audit].
	Unbound bool
	// Every is how often Watch looks whether the files have changed; 0 stands for 5 s.
	Every time.Duration
	// Settle is how long they have to be the same before Watch reads them; 0 stands for 500 ms.
	Settle time.Duration
	// Log is told of each load, and of each error once; nil is silent.
	Log *slog.Logger
}

// Policies are the policies of files, which are read again when they change. Files that cannot be used leave the set as
// it was. It is safe for use by several goroutines.
type Policies struct {
	cfg     PoliciesConfig
	current atomic.Pointer[PolicySet]

	// loading is held while files are read.
	loading sync.Mutex
	// tried is the Digest that was last read, whatever came of it, or why it could not be had.
	tried string

	mu        sync.Mutex
	status    PoliciesStatus
	replayers []weak.Pointer[replay.Replayer]
}

// PoliciesStatus says how the policies are.
type PoliciesStatus struct {
	// Loaded is when the set that is evaluated was read, and Hash tells it from others.
	Loaded time.Time
	Hash   string
	// Policies and Bindings are those that were taken in, Evaluated the pairs of them, Refused what was left out when the
	// set was read.
	Policies, Bindings, Evaluated, Refused int
	// Texts name the policies and bindings that are evaluated, with their hashes.
	Texts []engine.Text
	// Reloads counts the times that a set took the place of another, Failures those that files were read in vain.
	Reloads, Failures int64
	// Err is why the files are not in effect as they are now; nil where they are. Since is when that was first found.
	Err   error
	Since time.Time
}

// OpenPolicies reads the policies. What an apiserver would refuse is left out and told by the PolicySet; where nothing is
// left, that is an error.
func OpenPolicies(cfg PoliciesConfig) (*Policies, error) {
	if cfg.Every <= 0 {
		cfg.Every = 5 * time.Second
	}
	if cfg.Settle <= 0 {
		cfg.Settle = 500 * time.Millisecond
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	set, digest, err := loadPolicies(cfg)
	if err != nil {
		return nil, fmt.Errorf("loading policies: %w", err)
	}
	p := &Policies{cfg: cfg, tried: digest}
	p.swap(set)
	return p, nil
}

// Current is the set that is evaluated.
func (p *Policies) Current() *PolicySet { return p.current.Load() }

// Evaluate evaluates the current policies on a request.
func (p *Policies) Evaluate(req *replay.Request) engine.Decision {
	return p.Current().Engine.Evaluate(req)
}

// Replayer makes a Replayer that keeps what the policies need, also as they change.
func (p *Policies) Replayer(cfg replay.Config) *replay.Replayer {
	cfg.Keep = func(group, resource string) bool { return p.Current().Engine.Needs(group, resource) }
	r := replay.New(cfg)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replayers = append(p.replayers, weak.Make(r)) // A Replayer that nobody uses any more is not kept for this.
	return r
}

// HighestCosts has the most that the validations of one evaluation have cost since the policies were loaded, by policy.
func (p *Policies) HighestCosts() map[string]int64 { return p.Current().Engine.HighestCosts() }

// Status says how the policies are.
func (p *Policies) Status() PoliciesStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Reload reads the files now. After an error, which is logged already, the policies are as they were.
func (p *Policies) Reload() error {
	p.loading.Lock()
	defer p.loading.Unlock()
	set, digest, err := loadPolicies(p.cfg)
	p.tried = digest
	if digest == "" {
		p.tried = err.Error()
	}
	if err == nil {
		err = set.spoiled(p.Current())
	}
	if err != nil {
		err = fmt.Errorf("loading policies, which stay as they were: %w", err)
		p.failed(err)
		return err
	}
	set.compareBeside(p.Current())
	p.swap(set)
	return nil
}

// Watch reads the files again whenever they have changed, until the context ends.
func (p *Policies) Watch(ctx context.Context) {
	seen, wait := "", p.cfg.Every
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		now, wanted := p.changed()
		switch {
		case !wanted:
			seen, wait = "", p.cfg.Every
		case now != seen:
			seen, wait = now, p.cfg.Settle // Somebody may be writing.
		default:
			_ = p.Reload() // It is logged, and Status tells.
			seen, wait = "", p.cfg.Every
		}
	}
}

// changed says what the files are now, and whether that has been tried yet.
func (p *Policies) changed() (digest string, wanted bool) {
	now, err := manifest.Digest(p.cfg.Paths)
	if err != nil {
		now = err.Error()
	}
	p.loading.Lock()
	defer p.loading.Unlock()
	return now, now != p.tried
}

// swap puts a set in effect.
func (p *Policies) swap(set *PolicySet) {
	before := p.current.Load()
	if before != nil && before.Hash == set.Hash {
		set.Engine = before.Engine // It knows the cluster's resources and RBAC already.
	}
	p.current.Store(set)
	p.mu.Lock()
	replayers := p.loaded(before, set)
	p.mu.Unlock()
	for _, r := range replayers {
		for _, resource := range r.Rekeep() {
			p.cfg.Log.Info("earlier states of objects are kept from now on", "resource", resource.String())
		}
	}
}

// loaded notes a set that is in effect, and returns the Replayers that are to know.
func (p *Policies) loaded(before, set *PolicySet) []*replay.Replayer {
	p.status = PoliciesStatus{
		Loaded: set.Loaded, Hash: set.Hash, Policies: set.Policies, Bindings: set.Bindings, Evaluated: len(set.Pairs),
		Refused: len(set.Refusals), Texts: set.Texts, Reloads: p.status.Reloads, Failures: p.status.Failures,
	}
	if before != nil {
		p.status.Reloads++
	}
	p.cfg.Log.Info("policies loaded", "policies", set.Policies, "bindings", set.Bindings, "evaluated", len(set.Pairs), "hash", set.Hash)
	for _, refusal := range set.Refusals {
		p.cfg.Log.Warn("refused, as an apiserver would", "reason", refusal)
	}
	for _, warning := range set.Warnings {
		p.cfg.Log.Warn(warning)
	}
	var used []*replay.Replayer
	kept := p.replayers[:0]
	for _, w := range p.replayers {
		if r := w.Value(); r != nil {
			used, kept = append(used, r), append(kept, w)
		}
	}
	p.replayers = kept
	return used
}

// failed notes that files were read in vain.
func (p *Policies) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.Failures++
	if old := p.status.Err; old != nil && old.Error() == err.Error() {
		return
	}
	p.status.Err, p.status.Since = err, time.Now()
	p.cfg.Log.Error(err.Error())
}
