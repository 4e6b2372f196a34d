package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/sink"
)

const defaultQueueBytes = 32 << 20

// service runs sessions, one after the other.
type service struct {
	cfg   ServeConfig
	state *clusterStates
	// observed is how far the state goes.
	observed     map[ingest.Partition]ingest.Mark
	checkpointed time.Time
	noCheckpoint bool // writing the last one failed
	texts        *texts

	mu          sync.Mutex
	assignments map[string]ingest.Assignment
	// changed is closed and made anew when an assignment changes.
	changed chan struct{}
}

// Serve evaluates what the sources deliver, and stores what comes of it, until the context ends or all partitions have.
func Serve(ctx context.Context, cfg ServeConfig) error {
	s := newService(cfg)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watchers sync.WaitGroup
	for _, source := range s.cfg.Sources {
		watchers.Go(func() {
			err := source.Source.Watch(ctx, func(a ingest.Assignment) { s.assign(source.Name, a) })
			if err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("watching %s: %w", source.Name, err))
			}
		})
	}
	s.state.ctx = ctx
	err := s.serve(ctx)
	s.state.clear()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	cancel(nil)
	watchers.Wait()
	return err
}

func newService(cfg ServeConfig) *service {
	if cfg.Metrics == nil {
		cfg.Metrics = noMetrics{}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.QueueBytes <= 0 {
		cfg.QueueBytes = defaultQueueBytes
	}
	s := &service{cfg: cfg, checkpointed: time.Now(), texts: newTexts(), assignments: map[string]ingest.Assignment{}, changed: make(chan struct{})}
	s.state = &clusterStates{cfg: &s.cfg, all: map[string]*clusterState{}}
	return s
}

func (s *service) assign(source string, a ingest.Assignment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, known := s.assignments[source]; known && slices.Equal(old.All, a.All) && slices.Equal(old.Own, a.Own) {
		return
	}
	s.assignments[source] = a
	close(s.changed)
	s.changed = make(chan struct{})
}

// serve runs a session for each assignment of partitions, and another where the store has moved on.
func (s *service) serve(ctx context.Context) error {
	for wait := time.Duration(0); ; {
		s.cfg.Status.beats(time.Now())
		err := s.session(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errMoved), errors.Is(err, errReassigned):
			wait = 0
			continue
		}
		wait = min(max(2*wait, 200*time.Millisecond), 10*time.Second)
		s.cfg.Log.Error("the service begins again", "in", wait, "error", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errReassigned ends a session whose partitions are others now.
var errReassigned = errors.New("the partitions are assigned anew")

// session runs one session with the partitions as they are assigned now.
func (s *service) session(ctx context.Context) error {
	assigned, changed, err := s.assigned(ctx)
	if err != nil {
		return err
	}
	n := &session{
		service: s, budget: newBudget(s.cfg.QueueBytes), decoding: make(chan struct{}, s.workers()), woken: make(chan struct{}, 1),
		commits: make(chan *openBatch, 1), committed: make(chan *openBatch, 4), failed: make(chan struct{}),
		batch: newOpenBatch(map[*part]ingest.Mark{}),
	}
	if err := s.open(ctx, n, assigned); err != nil {
		return err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-changed:
			cancel(errReassigned)
		case <-running.Done():
		}
	}()
	s.cfg.Status.runs(true)
	err = n.run(running)
	s.cfg.Status.runs(false)
	for _, p := range n.parts {
		s.observed[p.id] = p.observed
	}
	if context.Cause(running) == errReassigned && ctx.Err() == nil && err != nil {
		return errReassigned
	}
	return err
}

// assigned waits until each source has told its partitions.
func (s *service) assigned(ctx context.Context) (map[string]ingest.Assignment, <-chan struct{}, error) {
	for {
		s.mu.Lock()
		out, changed := maps.Clone(s.assignments), s.changed
		s.mu.Unlock()
		if len(out) == len(s.cfg.Sources) {
			return out, changed, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// open finds out where each partition is, and from where it has to be read.
func (s *service) open(ctx context.Context, n *session, assigned map[string]ingest.Assignment) error {
	stored := map[ingest.Partition]sink.PartitionMark{}
	for _, source := range s.cfg.Sources {
		marks, err := s.cfg.Store.Marks(ctx, source.Name)
		if err != nil {
			return fmt.Errorf("asking for the marks of %s: %w", source.Name, err)
		}
		for _, m := range marks {
			stored[ingest.Partition{Source: m.Source, Name: m.Partition}] = m
		}
	}
	if s.observed == nil || s.tooFarAhead(assigned, stored) {
		if err := s.begin(ctx); err != nil {
			return err
		}
	}
	for _, source := range s.cfg.Sources {
		a := assigned[source.Name]
		for _, name := range a.All {
			id := ingest.Partition{Source: source.Name, Name: name}
			p := &part{id: id, source: source, own: slices.Contains(a.Own, name), room: make(chan struct{}, 1)}
			p.stored, p.observed = ingest.Mark(stored[id].Mark), s.observed[id]
			p.started = p.observed
			if p.own && p.stored.Compare(p.started) < 0 {
				p.started = p.stored
			}
			n.batch.reached[p] = p.stored
			n.parts = append(n.parts, p)
		}
	}
	return nil
}

// begin forgets all that is known of the clusters, and takes in the newest checkpoint.
func (s *service) begin(ctx context.Context) error {
	s.state.clear()
	observed, err := s.restore(ctx)
	if err != nil {
		return err
	}
	s.observed = observed
	return nil
}

// tooFarAhead says whether what is known of the clusters goes so far beyond what is stored of a partition to be
// evaluated that older states, which it needs, may be forgotten.
func (s *service) tooFarAhead(assigned map[string]ingest.Assignment, stored map[ingest.Partition]sink.PartitionMark) bool {
	newest := s.state.newest()
	for _, source := range s.cfg.Sources {
		for _, name := range assigned[source.Name].Own {
			id := ingest.Partition{Source: source.Name, Name: name}
			at := stored[id]
			if ingest.Mark(at.Mark).Compare(s.observed[id]) < 0 && newest.Sub(at.EventTime) > mostBehind {
				return true
			}
		}
	}
	return false
}
