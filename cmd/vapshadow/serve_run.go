package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/vapshadow/vapshadow/ingest/webhook"
	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/internal/metrics"
	"github.com/vapshadow/vapshadow/internal/pipeline"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
)

// serve runs the service until the context ends, which is its regular end.
func serve(ctx context.Context, c *config.Config, s stdio) (err error) {
	minor, err := minorOf(c)
	if err != nil {
		return err
	}
	log := newLogger(c.Log, s.err)
	store, err := awaitStore(ctx, c.Store, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	sources, err := openSources(c.Sources, c.ShutdownTimeout, log)
	if err != nil {
		return err
	}
	policies, err := openPolicies(c, minor, log)
	if err != nil {
		return err
	}
	m, status := metrics.New(readVersion().Version), &pipeline.Status{}
	cfg := serveConfig(c, minor, log)
	cfg.Sources, cfg.Store, cfg.Policies, cfg.Metrics, cfg.Status = sources, store, policies, m, status
	showWebhooks(m, sources)
	running, cancel := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel(nil)
	handler, err := withPages(operations(m, status, store), c, store, log)
	if err != nil {
		return err
	}
	if err := listenAll(running, &beside, c, handler, cancel, log); err != nil {
		return err
	}
	if policies != nil {
		beside.Go(func() { policies.Watch(running) })
		beside.Go(func() { reloadOnSignal(running, policies) })
		beside.Go(func() { showPolicies(running, policies, m) })
	}
	beside.Go(func() { maintain(running, store, c.Retention, log) })
	log.Info("serving", "version", readVersion().Version, "sources", len(sources), "kubernetes", c.KubernetesVersion, "listen", c.Listen)
	err = pipeline.Serve(running, cfg)
	if cause := context.Cause(running); ctx.Err() == nil && cause != nil {
		return cause
	}
	if ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())) {
		log.Info("ended")
		return nil
	}
	return err
}

// serveConfig is what the configuration says of the service itself.
func serveConfig(c *config.Config, minor int, log *slog.Logger) pipeline.ServeConfig {
	cfg := pipeline.ServeConfig{
		Name: c.Name, Clusters: map[string][]string{}, Live: map[string]pipeline.LiveConfig{}, Minor: minor,
		TeamLabel:    c.TeamLabel,
		HistoryBytes: int64(c.Limits.HistoryBytes), QueueBytes: int64(c.Limits.QueueBytes), Workers: c.Workers,
		CheckpointEvery: c.CheckpointEvery, ShutdownTimeout: c.ShutdownTimeout, Log: log,
	}
	for _, cluster := range c.Clusters {
		cfg.Clusters[cluster.Name] = cluster.Snapshot
		if l := cluster.Live; l != nil {
			cfg.Live[cluster.Name] = pipeline.LiveConfig{
				Kubeconfig: l.Kubeconfig, Context: l.Context, Policies: l.PolicySelector != "", Selector: l.PolicySelector,
			}
		}
	}
	return cfg
}

// openStore opens the store. An embedded one is made, and brought up to date, by the way: nobody else uses it.
func openStore(ctx context.Context, url string, log *slog.Logger) (sink.Database, error) {
	if connect.Embedded(url) {
		applied, err := connect.Migrate(ctx, url)
		if err != nil {
			return nil, err
		}
		if len(applied) > 0 {
			log.Info("the database was brought up to date", "migrations", len(applied))
		}
	}
	return connect.Open(ctx, url)
}

// awaitStore opens the store of a service. One that does not answer is waited for: it may be starting as well.
func awaitStore(ctx context.Context, url string, log *slog.Logger) (sink.Database, error) {
	for wait := 500 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		store, err := openStore(ctx, url, log)
		if err == nil || !connect.Unreachable(err) {
			return store, err
		}
		log.Warn("the store does not answer, and is tried again", "in", wait, "error", err)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait):
		}
	}
}

// showWebhooks shows the figures of the webhooks among the sources.
func showWebhooks(m *metrics.Metrics, sources []pipeline.ServedSource) {
	for _, source := range sources {
		if hook, ok := source.Source.(*webhook.Source); ok {
			m.Webhook(source.Name, hook.Stats)
		}
	}
}

// maintainEvery is how often days that are past the retention are dropped, days to come prepared, and days that ended
// counted; maintainAgain how soon after that has failed.
const (
	maintainEvery = time.Hour
	maintainAgain = time.Minute
)

func maintain(ctx context.Context, store sink.Maintainer, retention time.Duration, log *slog.Logger) {
	for {
		wait := maintainEvery
		if err := store.Maintain(ctx, retention, time.Now()); err != nil && ctx.Err() == nil {
			wait = maintainAgain
			log.Error("the days of the database were not made or dropped, and that is tried again", "in", wait, "error", err)
		}
		if err := store.Seal(ctx, time.Now().UTC().Truncate(24*time.Hour)); err != nil && ctx.Err() == nil {
			wait = maintainAgain
			log.Error("days that ended were not counted, which makes pages slower, and that is tried again", "in", wait, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
