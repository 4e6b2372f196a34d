package pipeline

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/internal/manifest"
	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/sink"
)

// clusterState is what is known of one cluster.
type clusterState struct {
	name string
	// teamLabel is ServeConfig's.
	teamLabel string
	log       *slog.Logger
	replayer  *replay.Replayer
	evaluate  func(*replay.Request) (engine.Decision, error)
	// policies are those that are evaluated now.
	policies func() *engine.Engine
	// unwatch ends the watching of the running cluster; nil where it is not watched.
	unwatch context.CancelFunc
	seen    *seen
	newest  time.Time // the latest stageTimestamp that was observed
}

func (c *clusterState) observe(d *replay.Decoded, key seenKey, at seenAt) {
	if !remembered(d) || !c.seen.add(key, d.Event.StageTimestamp, at) {
		c.replayer.Observe(d)
	}
}

// decide rebuilds the admission requests of an event and evaluates the policies on them. A panic is a defect: it costs
// this event, which is then a dead letter, and no other.
func (c *clusterState) decide(d *replay.Decoded) (out verdicts) {
	defer func() {
		if r := recover(); r != nil {
			// The value of a panic may hold object content; the stack holds none.
			c.log.Error("evaluating an event failed: please report this", "auditID", d.Event.AuditID, "panic", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
			out = verdicts{err: fmt.Errorf("evaluating the event with audit ID %s: a defect of vapshadow, %T", d.Event.AuditID, r)}
		}
	}()
	var records []*sink.Record
	for _, req := range c.replayer.Requests(d) {
		decision, err := c.evaluate(req)
		if err != nil {
			return verdicts{err: err}
		}
		records = append(records, record(c.name, c.teamLabel, req, decision))
		decision.Recycle()
	}
	return verdicts{records: records}
}

// clusterStates are the clusters by name, made when the first event of one comes. They belong to the session's
// goroutine.
type clusterStates struct {
	cfg *ServeConfig
	// ctx is the service's: what is watched is watched for as long.
	ctx context.Context
	all map[string]*clusterState
}

// of is the state of a cluster.
func (c *clusterStates) of(name string) (*clusterState, error) {
	if state := c.all[name]; state != nil {
		return state, nil
	}
	return c.begin(name, nil)
}

// known is the state of a cluster of which an event was observed. It is safe for use by several goroutines as long as
// nothing is observed.
func (c *clusterStates) known(name string) *clusterState { return c.all[name] }

// begin makes the state of a cluster from its snapshot, and from what an earlier process knew, if that is given.
func (c *clusterStates) begin(name string, earlier io.Reader) (*clusterState, error) {
	state := &clusterState{name: name, teamLabel: c.cfg.TeamLabel, log: c.cfg.Log, seen: newSeen()}
	config := replay.Config{Minor: c.cfg.Minor, HistoryBytes: c.cfg.HistoryBytes}
	if c.cfg.Policies != nil {
		state.replayer = c.cfg.Policies.Replayer(config)
	} else {
		state.replayer = replay.New(config)
	}
	if earlier != nil {
		if err := state.replayer.Restore(earlier); err != nil {
			return nil, err
		}
	}
	watched, err := c.running(state)
	if err != nil {
		return nil, fmt.Errorf("beginning cluster %q: %w", name, err)
	}
	if err := c.evaluates(state, watched.objects); err != nil {
		return nil, fmt.Errorf("beginning cluster %q: %w", name, err)
	}
	watched.begin(c.ctx, state)
	c.all[name] = state
	return state, nil
}

// evaluates shows a cluster's snapshot, and says what evaluates its requests.
func (c *clusterStates) evaluates(state *clusterState, running []manifest.Object) error {
	result := newResult()
	cfg := ReplayConfig{Cluster: c.cfg.Clusters[state.name], Running: running, Minor: c.cfg.Minor}
	set, objects, err := read(cfg, state.replayer, result)
	if err != nil {
		return err
	}
	if given := c.cfg.Policies; given != nil {
		snapshot(state.replayer, append(objects, given.Current().Beside...), result)
		state.evaluate = func(req *replay.Request) (engine.Decision, error) { return given.Evaluate(req), nil }
		state.policies = func() *engine.Engine { return given.Current().Engine }
		return nil
	}
	snapshot(state.replayer, objects, result)
	for _, told := range append(result.Refusals, result.Warnings...) {
		c.cfg.Log.Warn("the snapshot has policies that cannot be used as they are", "cluster", state.name, "policy", told)
	}
	e, err := engine.New(engineConfig(cfg, set))
	if err != nil {
		return err
	}
	policies := newTimeline(c.cfg.Minor, e)
	state.evaluate, state.policies = policies.evaluate, policies.last
	return nil
}

// clear forgets all clusters.
func (c *clusterStates) clear() {
	for _, state := range c.all {
		if state.unwatch != nil {
			state.unwatch()
		}
	}
	clear(c.all)
}

// newest is the latest stageTimestamp that was observed of any cluster.
func (c *clusterStates) newest() (at time.Time) {
	for _, state := range c.all {
		if state.newest.After(at) {
			at = state.newest
		}
	}
	return at
}
