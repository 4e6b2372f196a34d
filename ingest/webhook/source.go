// Package webhook takes audit events from the webhook backend of apiservers.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
)

// Partition is the name of a Source's one partition. It stays the same wherever the source listens, since the store
// knows deliveries by it.
const Partition = "webhook"

// idle is how long Next waits for a delivery.
const idle = time.Second

// Source is an [ingest.Source] that apiservers post their events to, at /audit/<cluster>. Each request is a chunk, with
// a delivery that the same request has again; it is answered when the chunk is done. All methods may be called by
// several goroutines.
type Source struct {
	cfg      Config
	files    *files
	queue    *queue
	counters counters
	listener net.Listener
	server   *http.Server
	watched  atomic.Bool
}

var (
	_ ingest.Source = (*Source)(nil)
	_ http.Handler  = (*Source)(nil)
)

// New opens the port and reads the files. Requests are answered once Watch is called.
func New(cfg Config) (*Source, error) {
	s, err := newSource(cfg.withDefaults())
	if err != nil {
		if cfg.Listener != nil {
			_ = cfg.Listener.Close()
		}
		return nil, fmt.Errorf("audit webhook: %w", err)
	}
	return s, nil
}

func newSource(cfg Config) (*Source, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	files, err := loadFiles(cfg)
	if err != nil {
		return nil, err
	}
	s := &Source{cfg: cfg, files: files, queue: newQueue(cfg.MaxInFlightBytes), listener: cfg.Listener}
	if s.listener == nil {
		if s.listener, err = net.Listen("tcp", cfg.Address); err != nil {
			return nil, err
		}
	}
	if err := cfg.validateAddress(s.listener.Addr()); err != nil {
		_ = s.listener.Close()
		return nil, err
	}
	s.server = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
	}
	if cfg.CertFile != "" {
		s.server.TLSConfig = cfg.tlsConfig(files)
	}
	return s, nil
}

// Addr is the address that the source listens on.
func (s *Source) Addr() net.Addr { return s.listener.Addr() }

// Close ends a source that is not watched. Where it is, the end of Watch's context does.
func (s *Source) Close() error {
	s.queue.close()
	return errors.Join(s.server.Close(), ignoreClosed(s.listener.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Watch tells of the one partition, and answers requests until the context ends. It returns when those under way are
// answered, or have taken too long. It is called once.
func (s *Source) Watch(ctx context.Context, changed func(ingest.Assignment)) error {
	if s.watched.Swap(true) {
		return errors.New("audit webhook: it is watched already, or has ended")
	}
	changed(ingest.Assignment{All: []string{Partition}, Own: []string{Partition}})
	failed := make(chan error, 1)
	go func() { failed <- s.serve() }()
	select {
	case err := <-failed:
		s.queue.close()
		return fmt.Errorf("audit webhook: %w", err)
	case <-ctx.Done():
	}
	s.drain(context.WithoutCancel(ctx))
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("audit webhook: %w", err)
	}
	return ctx.Err()
}

func (s *Source) serve() error {
	if s.server.TLSConfig != nil {
		return s.server.ServeTLS(s.listener, "", "")
	}
	return s.server.Serve(s.listener)
}

// drain refuses what no stream has taken yet, and waits for the rest.
func (s *Source) drain(ctx context.Context) {
	s.queue.close()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.DrainTimeout)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		s.cfg.Log.Warn("requests of the audit webhook were not answered in time", "error", err)
		_ = s.server.Close() // the error is that of the wait
	}
}

// Open opens the partition. The mark is not looked at: what was answered is stored, and the rest is sent again.
func (s *Source) Open(ctx context.Context, name string, _ ingest.Mark) (ingest.Stream, error) {
	if name != Partition {
		return nil, fmt.Errorf("audit webhook: there is no partition %q", name)
	}
	return stream{s.queue}, ctx.Err()
}

// stream hands out what arrives. What it leaves, the next one takes.
type stream struct{ queue *queue }

// Next waits for a delivery.
func (s stream) Next(ctx context.Context) (ingest.Chunk, error) {
	timeout := time.NewTimer(idle)
	defer timeout.Stop()
	for {
		if err := ctx.Err(); err != nil {
			return ingest.Chunk{}, err
		}
		if c, behind := s.queue.next(); c != nil {
			return s.queue.chunk(c, behind), nil
		}
		select {
		case <-s.queue.arrived:
		case <-timeout.C:
			return ingest.Chunk{CaughtUp: true}, nil
		case <-ctx.Done():
		}
	}
}

// Close does nothing: the queue is the source's.
func (s stream) Close() error { return nil }
