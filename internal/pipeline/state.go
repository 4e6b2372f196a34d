package pipeline

import (
	"fmt"
	"io"
	"time"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/internal/manifest"
	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/sink"
)

// clusterState is what is known of one cluster.
type clusterState struct {
	name     string
	replayer *replay.Replayer
	evaluate func(*replay.Request) (engine.Decision, error)
	// texts are the policies and bindings as they are now.
	texts  func() []engine.Text
	seen   *seen
	newest time.Time // the latest stageTimestamp that was observed
}

func (c *clusterState) observe(d *replay.Decoded, at seenAt) {
	if d.Operation != "" {
		c.seen.add(d.Event, at)
	}
	c.replayer.Observe(d)
	if d.Event.StageTimestamp.After(c.newest) {
		c.newest = d.Event.StageTimestamp
	}
}

// decide rebuilds the admission requests of an event and evaluates the policies on them. A panic is a defect: it costs
// this event, which is then a dead letter, and no other.
func (c *clusterState) decide(d *replay.Decoded) (out verdicts) {
	defer func() {
		if r := recover(); r != nil {
			out = verdicts{err: fmt.Errorf("evaluating the event with audit ID %s: %T", d.Event.AuditID, r)}
		}
	}()
	var records []*sink.Record
	for _, req := range c.replayer.Requests(d) {
		decision, err := c.evaluate(req)
		if err != nil {
			return verdicts{err: err}
		}
		records = append(records, record(c.name, req, decision))
	}
	return verdicts{records: records}
}

// clusterStates are the clusters by name, made when the first event of one comes. They belong to the session's
// goroutine.
type clusterStates struct {
	cfg *ServeConfig
	// engine has the policies that were given; nil where each cluster has its own.
	engine func() *engine.Engine
	// beside are the objects that stand beside the policies in their files.
	beside []manifest.Object
	all    map[string]*clusterState
}

func newClusterStates(cfg *ServeConfig) (*clusterStates, error) {
	c := &clusterStates{cfg: cfg, all: map[string]*clusterState{}}
	if len(cfg.Policies) == 0 {
		return c, nil
	}
	result := newResult()
	set, beside, err := read(c.replayConfig("", cfg.Policies), nil, result)
	if err != nil {
		return nil, err
	}
	c.report(result)
	e, err := engine.New(engineConfig(c.replayConfig("", cfg.Policies), set))
	if err != nil {
		return nil, err
	}
	c.beside, c.engine = beside, func() *engine.Engine { return e }
	return c, nil
}

func (c *clusterStates) report(result *Result) {
	for _, refusal := range result.Refusals {
		c.cfg.Log.Warn("refused, as an apiserver would", "reason", refusal)
	}
	for _, warning := range result.Warnings {
		c.cfg.Log.Warn(warning)
	}
}

func (c *clusterStates) replayConfig(cluster string, policies []string) ReplayConfig {
	return ReplayConfig{Policies: policies, Cluster: c.cfg.Clusters[cluster], Minor: c.cfg.Minor, Unbound: c.cfg.Unbound}
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
	config := replay.Config{Minor: c.cfg.Minor, HistoryBytes: c.cfg.HistoryBytes}
	if c.engine != nil {
		config.Keep = func(group, resource string) bool { return c.engine().Needs(group, resource) }
	}
	state := &clusterState{name: name, replayer: replay.New(config), seen: newSeen()}
	if earlier != nil {
		if err := state.replayer.Restore(earlier); err != nil {
			return nil, err
		}
	}
	result, cfg := newResult(), c.replayConfig(name, nil)
	set, objects, err := read(cfg, state.replayer, result)
	if err != nil {
		return nil, fmt.Errorf("reading cluster %q: %w", name, err)
	}
	snapshot(state.replayer, append(objects, c.beside...), result)
	if c.engine != nil {
		state.evaluate = func(req *replay.Request) (engine.Decision, error) { return c.engine().Evaluate(req), nil }
		state.texts = func() []engine.Text { return c.engine().Texts() }
	} else {
		c.report(result)
		e, err := engine.New(engineConfig(cfg, set))
		if err != nil {
			return nil, err
		}
		policies := newTimeline(c.cfg.Minor, e)
		state.evaluate, state.texts = policies.evaluate, func() []engine.Text { return policies.last().Texts() }
	}
	c.all[name] = state
	return state, nil
}

// clear forgets all clusters.
func (c *clusterStates) clear() { clear(c.all) }

// newest is the latest stageTimestamp that was observed of any cluster.
func (c *clusterStates) newest() (at time.Time) {
	for _, state := range c.all {
		if state.newest.After(at) {
			at = state.newest
		}
	}
	return at
}
