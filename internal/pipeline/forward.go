package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/sink"
)

// ForwardConfig is what is forwarded, and where to.
type ForwardConfig struct {
	Sources []ServedSource
	// Store keeps how far the sources are that can be read again.
	Store sink.Store
	// Write writes the events of entries, and returns when they are durable, with what of the entries is no event.
	Write func(ctx context.Context, cluster string, entries []ingest.Entry) (events int, skips []ingest.Skip, err error)
	// Forwarded is told of each chunk that was written; nil is allowed.
	Forwarded func(id ingest.Partition, events int, skips []ingest.Skip)
	Log       *slog.Logger
}

// Forward writes on what the sources deliver, until the context ends or a source fails for good. A chunk is done, and
// its mark stored, once it is written. One that was written and not yet stored when the process ends is written again.
func Forward(ctx context.Context, cfg ForwardConfig) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Forwarded == nil {
		cfg.Forwarded = func(ingest.Partition, int, []ingest.Skip) {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var sources sync.WaitGroup
	for _, source := range cfg.Sources {
		f := &forwarder{cfg: cfg, source: source, running: map[string]context.CancelFunc{}}
		sources.Go(func() {
			err := source.Source.Watch(ctx, func(a ingest.Assignment) { f.assign(ctx, a) })
			f.partitions.Wait()
			if err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("watching %s: %w", source.Name, err))
			}
		})
	}
	sources.Wait()
	return context.Cause(ctx)
}

// forwarder forwards the partitions of one source.
type forwarder struct {
	cfg        ForwardConfig
	source     ServedSource
	partitions sync.WaitGroup
	running    map[string]context.CancelFunc
}

// assign begins with the partitions that are new, and leaves those that are gone.
func (f *forwarder) assign(ctx context.Context, a ingest.Assignment) {
	own := map[string]bool{}
	for _, name := range a.Own {
		own[name] = true
		if f.running[name] == nil {
			ctx, cancel := context.WithCancel(ctx)
			f.running[name] = cancel
			f.partitions.Go(func() { f.partition(ctx, ingest.Partition{Source: f.source.Name, Name: name}) })
		}
	}
	for name, cancel := range f.running {
		if !own[name] {
			cancel()
			delete(f.running, name)
		}
	}
}

// partition forwards a partition until the context ends, and begins again where that fails.
func (f *forwarder) partition(ctx context.Context, id ingest.Partition) {
	for wait := 100 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 10*time.Second) {
		begun := time.Now()
		err := f.stream(ctx, id)
		if err == nil || ctx.Err() != nil {
			return
		}
		if time.Since(begun) > time.Minute {
			wait = 100 * time.Millisecond
		}
		f.cfg.Log.Warn("forwarding failed, and is tried again", "partition", id.String(), "in", wait, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// stream forwards from where the store is until something fails.
func (f *forwarder) stream(ctx context.Context, id ingest.Partition) error {
	at := sink.Mark{}
	if !f.source.NoMarks {
		marks, err := f.cfg.Store.Marks(ctx, id.Source)
		if err != nil {
			return fmt.Errorf("asking how far %s is forwarded: %w", id, err)
		}
		at = byName(marks)[id.Name].Mark
	}
	stream, err := f.source.Source.Open(ctx, id.Name, ingest.Mark(at))
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }() // It was only read.
	for {
		chunk, err := stream.Next(ctx)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		if at, err = f.chunk(ctx, id, chunk, at); err != nil || ended {
			return err
		}
	}
}

// chunk writes a chunk, and stores that it is written.
func (f *forwarder) chunk(ctx context.Context, id ingest.Partition, chunk ingest.Chunk, at sink.Mark) (sink.Mark, error) {
	next, err := at, error(nil)
	if len(chunk.Entries) > 0 {
		next, err = f.write(ctx, id, chunk, at)
	}
	if chunk.Done != nil {
		chunk.Done(err)
	}
	return next, err
}

func (f *forwarder) write(ctx context.Context, id ingest.Partition, chunk ingest.Chunk, at sink.Mark) (sink.Mark, error) {
	cluster := chunk.Cluster
	if cluster == "" {
		cluster = f.source.Cluster
	}
	events, skips, err := f.cfg.Write(ctx, cluster, chunk.Entries)
	if err != nil {
		return at, err
	}
	next := at
	if k := len(chunk.Ends); k > 0 && !f.source.NoMarks {
		next = sink.Mark(chunk.Ends[k-1])
		move := sink.Move{Source: id.Source, Partition: id.Name, From: at, To: next}
		err := f.cfg.Store.Commit(ctx, &sink.Batch{Moves: []sink.Move{move}})
		if moved := errorAs[*sink.MovedError](err); err != nil && (moved == nil || moved.Now[0].Mark != next) {
			return at, fmt.Errorf("storing how far %s is forwarded: %w", id, err)
		}
	}
	f.cfg.Forwarded(id, events, skips)
	return next, nil
}
