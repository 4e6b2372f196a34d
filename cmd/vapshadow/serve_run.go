package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/vapshadow/vapshadow/ingest/webhook"
	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/internal/health"
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
	for _, source := range sources {
		if hook, ok := source.Source.(*webhook.Source); ok {
			m.Webhook(source.Name, hook.Stats)
		}
	}
	running, cancel := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel(nil)
	for _, listener := range []struct {
		address string
		handler http.Handler
	}{{c.Listen, operations(m, status, store)}, {c.Pprof, profiles()}} {
		if listener.address == "" {
			continue
		}
		if err := listen(running, &beside, listener.address, listener.handler, cancel, log); err != nil {
			return err
		}
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

// operations are the pages for those who run the service.
func operations(m *metrics.Metrics, status *pipeline.Status, store sink.Store) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}))
	mux.Handle("GET /healthz", health.Handler(health.Check{Name: "pipeline", Err: func(context.Context) error { return status.Alive() }}))
	mux.Handle("GET /readyz", health.Handler(
		health.Check{Name: "partitions", Err: func(context.Context) error { return status.Ready() }},
		health.Check{Name: "store", Err: store.Ping},
	))
	return mux
}

func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// listen serves HTTP until the context ends. A failure ends the service.
func listen(ctx context.Context, beside *sync.WaitGroup, address string, h http.Handler, cancel context.CancelCauseFunc, log *slog.Logger) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", address, err)
	}
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	log.Info("listening", "address", listener.Addr().String())
	beside.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			cancel(fmt.Errorf("serving on %s: %w", address, err))
		}
	})
	beside.Go(func() {
		<-ctx.Done()
		_ = server.Close() // What is asked for here is worth no waiting.
	})
	return nil
}

// maintainEvery is how often days that are past the retention are dropped, and days to come prepared; maintainAgain how
// soon after that has failed.
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
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
