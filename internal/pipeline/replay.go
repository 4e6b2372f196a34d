// Package pipeline leads events through replay and engine to records. It is the only package that knows them all.
package pipeline

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/engine/policy"
	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/file"
	"github.com/vapshadow/vapshadow/internal/manifest"
	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/sink"
)

// ReplayConfig is what a replay reads and how.
type ReplayConfig struct {
	// Policies, Cluster and AuditLog are files, globs and folders; "-" is Stdin. Without Policies, policies
	// and bindings come from Cluster and from the log's own events, as they were at the time of each request.
	Policies, Cluster, AuditLog []string
	Stdin                       io.Reader
	// Running are the objects of the cluster where it was asked itself, beside those of Cluster.
	Running []manifest.Object
	// Since and Until bound the stageTimestamp of the events that are evaluated; zero is no bound. Events outside still
	// tell the state of the cluster.
	Since, Until time.Time
	// Minor is the apiserver to be: 37 for Kubernetes 1.37.
	Minor int
	// Unbound evaluates policies without a binding as though bound to everything with [Audit].
	Unbound bool
	// ClusterName is written to each record.
	ClusterName string
	// TeamLabel is the label of Namespaces that names the team that they belong to; empty is none.
	TeamLabel string
	// Workers is how many events are decoded and evaluated at a time; 0 is one a core.
	Workers int
	// HistoryBytes bounds, approximately, the memory that earlier states of objects take; 0 is no bound.
	HistoryBytes int64
	// History is a file that holds the state of the cluster between runs: read if it is there, and written when the log
	// is done. Empty is none. Verify and Explain only read it, and it has to be there.
	History string
	// Store, where it is given, gets the rows of what the policies came to.
	Store sink.Store
	// Records is called with each record, in the order of the log. The record's list of evaluations is used again
	// afterwards. An error ends the replay.
	Records func(*sink.Record) error
	// Unmatched is called in place of Records with the stageTimestamp of a request that no policy has a rule for, where
	// that is known without rebuilding it; nil makes records of all.
	Unmatched func(time.Time)
	// Skips is called with each piece of input that is left out; nil is allowed.
	Skips func(ingest.Skip)
	// Progress is called now and then; nil is allowed.
	Progress func(Progress)
}

// Progress is how far a replay is.
type Progress struct {
	BytesRead, BytesTotal int64 // of the files as they are; BytesTotal is 0 where it is not known
	Events                int64
}

// Result is what a replay counted. Each event is in exactly one of Requests' events, NotAdmission and OutOfPeriod.
type Result struct {
	// Events read, of every stage.
	Events int64
	// Requests are the admission requests that were evaluated; Admissions the events that they came from.
	Requests, Admissions int64
	// OutOfPeriod are the events before Since and after Until.
	OutOfPeriod int64
	// NotAdmission counts events that are no admission request, by reason.
	NotAdmission map[string]int64
	// Skipped counts pieces of input that could not be used, by reason.
	Skipped map[string]int64
	// First and Last bound the stageTimestamps of the events within the period.
	First, Last time.Time
	// Pairs are the policies and bindings that were evaluated.
	Pairs []engine.Pair
	// Refusals are the policies and bindings that an apiserver would refuse, Warnings what it would warn of.
	Refusals, Warnings []string
	// ClusterIgnored counts the objects of the snapshot whose kind nothing tells, by kind.
	ClusterIgnored map[string]int64
}

func newResult() *Result {
	return &Result{NotAdmission: map[string]int64{}, Skipped: map[string]int64{}, ClusterIgnored: map[string]int64{}}
}

// Replay evaluates the policies on every admission request of an audit log.
func Replay(ctx context.Context, cfg ReplayConfig) (*Result, error) {
	result := newResult()
	replayer, eng, err := prepare(cfg, result)
	if err != nil {
		return nil, err
	}
	source, err := file.Open(cfg.AuditLog, file.Options{Stdin: cfg.Stdin})
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }() // It was only read.
	f := &flow{cfg: cfg, source: source, replayer: replayer, decide: fixed(eng), result: result}
	if len(cfg.Policies) > 0 {
		result.Pairs = eng.Pairs()
		if cfg.Unmatched != nil {
			f.mayMatch = eng.MayMatch
		}
		return result, f.finish(ctx, source, eng.Texts)
	}
	policies := newTimeline(cfg.Minor, eng)
	f.decide = policies.evaluate
	err = f.finish(ctx, source, func() []engine.Text { return policies.last().Texts() })
	result.Pairs = policies.last().Pairs()
	result.Warnings = append(result.Warnings, policies.notes...)
	return result, err
}

// fixed evaluates every request with one set of policies.
func fixed(e *engine.Engine) func(*replay.Request) (engine.Decision, error) {
	return func(req *replay.Request) (engine.Decision, error) { return e.Evaluate(req), nil }
}

// prepare makes the Replayer and the Engine, each from what the other needs to know. Given policies do not change, so
// that only what they hang on is kept.
func prepare(cfg ReplayConfig, result *Result) (*replay.Replayer, *engine.Engine, error) {
	config := replay.Config{Minor: cfg.Minor, HistoryBytes: cfg.HistoryBytes}
	if len(cfg.Policies) == 0 {
		replayer := replay.New(config)
		if err := restore(cfg.History, replayer); err != nil {
			return nil, nil, err
		}
		eng, err := load(cfg, replayer, result)
		return replayer, eng, err
	}
	set, cluster, err := read(cfg, nil, result)
	if err != nil {
		return nil, nil, err
	}
	eng, err := engine.New(engineConfig(cfg, set))
	if err != nil {
		return nil, nil, err
	}
	config.Keep = eng.Needs
	replayer := replay.New(config)
	if err := restore(cfg.History, replayer); err != nil {
		return nil, nil, err
	}
	snapshot(replayer, cluster, result)
	return replayer, eng, nil
}

// finish reads the log to its end, stores what it comes to, and writes the history.
func (f *flow) finish(ctx context.Context, source *file.Source, texts func() []engine.Text) (err error) {
	if f.cfg.Store != nil {
		if f.store, err = newStoring(ctx, f.cfg, source, texts); err != nil {
			return err
		}
	}
	if err := f.run(ctx); err != nil {
		return err
	}
	if f.store != nil {
		if err := f.store.flush(ctx); err != nil {
			return err
		}
	}
	return save(f.cfg.History, f.replayer)
}

// load reads the cluster and the policies, and compiles the latter.
func load(cfg ReplayConfig, replayer *replay.Replayer, result *Result) (*engine.Engine, error) {
	set, cluster, err := read(cfg, replayer, result)
	if err != nil {
		return nil, err
	}
	snapshot(replayer, cluster, result)
	return engine.New(engineConfig(cfg, set))
}

// read reads the cluster and the policies. Where the policies are the cluster's own, those that a restored history
// holds come first.
func read(cfg ReplayConfig, restored *replay.Replayer, result *Result) (policy.Set, []manifest.Object, error) {
	cluster, problems, err := manifest.Read(cfg.Cluster, manifest.Options{Stdin: cfg.Stdin})
	if err != nil {
		return policy.Set{}, nil, err
	}
	for _, p := range problems {
		if errors.Is(p, manifest.ErrNotObject) {
			result.ClusterIgnored["no Kubernetes object"]++ // Raw discovery or OpenAPI beside the objects.
			continue
		}
		result.Warnings = append(result.Warnings, p.Error())
	}
	cluster = append(cluster, cfg.Running...)
	objects, stored := cluster, true
	if len(cfg.Policies) > 0 {
		if objects, err = readPolicies(cfg, result); err != nil {
			return policy.Set{}, nil, err
		}
		stored = false
	} else if restored != nil {
		objects = withRestored(cfg.History, restored, cluster)
	}
	set, refusals, rest := policy.Load(objects, policy.Options{Minor: cfg.Minor, Stored: stored})
	for _, r := range refusals {
		result.Refusals = append(result.Refusals, r.Error())
	}
	for _, w := range set.Warnings {
		result.Warnings = append(result.Warnings, w.String())
	}
	if !stored {
		cluster = append(cluster, rest...)
	}
	return set, cluster, nil
}

// readPolicies reads the files of policies. What is broken in them is refused, not passed over.
func readPolicies(cfg ReplayConfig, result *Result) ([]manifest.Object, error) {
	objects, problems, err := manifest.Read(cfg.Policies, manifest.Options{Stdin: cfg.Stdin})
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		if errors.Is(p, manifest.ErrDuplicateKey) {
			result.Warnings = append(result.Warnings, p.Error()) // The object is there; the last value counts, as in an apiserver.
			continue
		}
		result.Refusals = append(result.Refusals, p.Error())
	}
	return objects, nil
}

func engineConfig(cfg ReplayConfig, set policy.Set) engine.Config {
	out := engine.Config{Minor: cfg.Minor, Unbound: cfg.Unbound}
	for i := range set.Policies {
		out.Policies = append(out.Policies, set.Policies[i].ValidatingAdmissionPolicy)
	}
	for i := range set.Bindings {
		out.Bindings = append(out.Bindings, set.Bindings[i].ValidatingAdmissionPolicyBinding)
	}
	return out
}

// snapshot shows the cluster to the replayer: what tells kinds first, then the rest.
func snapshot(replayer *replay.Replayer, objects []manifest.Object, result *Result) {
	for _, kinds := range []bool{true, false} {
		for _, o := range objects {
			if replay.TellsKinds(o.Kind) != kinds {
				continue
			}
			if err := replayer.Snapshot(o.APIVersion, o.Kind, o.Content); err != nil {
				result.ClusterIgnored[o.APIVersion+" "+o.Kind]++
			}
		}
	}
}
