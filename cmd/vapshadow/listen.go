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

	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/internal/health"
	"github.com/vapshadow/vapshadow/internal/metrics"
	"github.com/vapshadow/vapshadow/internal/pipeline"
	"github.com/vapshadow/vapshadow/sink"
)

// operations are the pages for those who run the service. A nil status is that of a process that only forwards.
func operations(m *metrics.Metrics, status *pipeline.Status, store sink.Store) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}))
	var alive, ready []health.Check
	if status != nil {
		alive = append(alive, health.Check{Name: "pipeline", Err: func(context.Context) error { return status.Alive() }})
		ready = append(ready, health.Check{Name: "partitions", Err: func(context.Context) error { return status.Ready() }})
	}
	mux.Handle("GET /healthz", health.Handler(alive...))
	mux.Handle("GET /readyz", health.Handler(append(ready, health.Check{Name: "store", Err: store.Ping})...))
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

// listenAll serves the pages, and the profiles where they are wanted.
func listenAll(ctx context.Context, beside *sync.WaitGroup, c *config.Config, pages http.Handler, cancel context.CancelCauseFunc, log *slog.Logger) error {
	for _, listener := range []struct {
		address string
		handler http.Handler
	}{{c.Listen, pages}, {c.Pprof, profiles()}} {
		if listener.address == "" {
			continue
		}
		if err := listen(ctx, beside, listener.address, listener.handler, cancel, log); err != nil {
			return err
		}
	}
	return nil
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
