package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/file"
	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/sink"
)

// ReplaySource is the source under which a replay's rows are stored.
const ReplaySource = "replay"

// storing stores what a replay comes to. Its partition is the log together with what it is evaluated with, so that the
// same replay, done again, adds nothing, and one that was stopped goes on where it was stored last. The partition's mark
// counts the entries of the log.
type storing struct {
	store   sink.Store
	cluster string
	id      ingest.Partition
	texts   *texts
	of      func() []engine.Text

	stored, from, at sink.Mark
	latest           time.Time
	rows             *rows
}

// newStoring finds out how far an earlier run came.
func newStoring(ctx context.Context, cfg ReplayConfig, source *file.Source, of func() []engine.Text) (*storing, error) {
	log, err := source.Identity()
	if err != nil {
		return nil, err
	}
	if log == "" {
		log = "read at " + time.Now().UTC().String() // It cannot be known again: each run counts.
	}
	s := &storing{store: cfg.Store, cluster: cfg.ClusterName, id: ingest.Partition{Source: ReplaySource, Name: partitionName(cfg, log, of())}, texts: newTexts(), of: of}
	s.rows = newRows(s.id)
	marks, err := cfg.Store.Marks(ctx, ReplaySource)
	if err != nil {
		return nil, fmt.Errorf("asking the store how far the log is stored: %w", err)
	}
	s.stored = byName(marks)[s.id.Name].Mark
	s.from, s.at = s.stored, s.stored
	return s, nil
}

// partitionName names a log with what it is evaluated with.
func partitionName(cfg ReplayConfig, log string, policies []engine.Text) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\n1.%d %t %q %s %s\n", log, cfg.Minor, cfg.Unbound, cfg.ClusterName, cfg.Since.UTC(), cfg.Until.UTC())
	for _, t := range policies {
		_, _ = fmt.Fprintf(h, "%s %s %s\n", t.Kind, t.Name, t.Hash)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// new says whether an entry is not stored yet.
func (s *storing) new(ordinal int64) bool { return ordinal > s.stored.Offset }

func (s *storing) skip(skip ingest.Skip, ordinal int64, n int32) {
	if s.new(ordinal) {
		s.rows.skip(s.cluster, skip, sink.DeadLetter{Mark: sink.Mark{Offset: ordinal}, N: n, At: time.Now().UTC()})
	}
}

// event stores what an event came to. leftOut is why it is not evaluated, where it is not.
func (s *storing) event(d *replay.Decoded, ordinal int64, leftOut string, of verdicts) {
	if !s.new(ordinal) {
		return
	}
	if d.Event.StageTimestamp.After(s.latest) {
		s.latest = d.Event.StageTimestamp
	}
	s.rows.event(s.cluster, d, leftOut, of)
}

// told stores that there was an event that is no admission request.
func (s *storing) told(t told) {
	if !s.new(t.ordinal) {
		return
	}
	if t.at.After(s.latest) {
		s.latest = t.at
	}
	s.rows.told(s.cluster, t)
}

// reach notes that all entries up to one have come to their end, and stores once there is enough.
func (s *storing) reach(ctx context.Context, ordinal int64) error {
	s.at.Offset = max(s.at.Offset, ordinal)
	if s.rows.size() < batchRows {
		return nil
	}
	return s.flush(ctx)
}

// flush stores what there is.
func (s *storing) flush(ctx context.Context) error {
	if s.at == s.from {
		return nil
	}
	b := &sink.Batch{
		Moves:    []sink.Move{{Source: s.id.Source, Partition: s.id.Name, From: s.from, To: s.at, EventTime: s.latest}},
		Policies: s.texts.missing(s.cluster, s.of()),
	}
	s.rows.addTo(b)
	if err := s.store.Commit(ctx, b); err != nil {
		if moved := errorAs[*sink.MovedError](err); moved != nil {
			return fmt.Errorf("another replay of the same log is storing at the same time: %w", err)
		}
		return fmt.Errorf("storing: %w", err)
	}
	s.texts.stored(b.Policies)
	s.from, s.rows = s.at, newRows(s.id)
	return nil
}
