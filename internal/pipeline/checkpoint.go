package pipeline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/sink"
)

// A checkpoint holds what is known of each cluster once every partition is observed up to a mark. A process that starts
// takes the newest, observes again what follows it, and evaluates from where the store is. Observing an event twice
// does no harm.

// mostBehind is how far, in the time of the log, evaluation may be behind what a checkpoint has observed: an older
// state of an object is forgotten after five minutes.
const mostBehind = 4 * time.Minute

// checkpoint writes one when it is time and the evaluation is close behind.
func (n *session) checkpoint(ctx context.Context, now time.Time) error {
	if n.cfg.CheckpointEvery <= 0 || now.Sub(n.checkpointed) < n.cfg.CheckpointEvery {
		return nil
	}
	n.checkpointed = now
	err := n.writeCheckpoint(ctx, now)
	if err != nil && !n.noCheckpoint && ctx.Err() == nil {
		// The older one still serves: more has to be read again at the next start.
		n.cfg.Log.Warn("no checkpoint was written, and the one before it stays until that succeeds", "error", err)
	}
	n.noCheckpoint = err != nil
	return ctx.Err()
}

// lastCheckpoint writes one when the service ends, so that the next start has little to read again.
func (n *session) lastCheckpoint(ctx context.Context) {
	if n.cfg.CheckpointEvery <= 0 || ctx.Err() == nil || errors.Is(context.Cause(ctx), errReassigned) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.cfg.ShutdownTimeout)
	defer cancel()
	if err := n.writeCheckpoint(ctx, time.Now()); err != nil {
		n.cfg.Log.Warn("no checkpoint was written at the end; the one before it stays", "error", err)
	}
}

func (n *session) writeCheckpoint(ctx context.Context, now time.Time) error {
	marks, err := n.observedMarks(ctx)
	if err != nil || marks == nil {
		return err
	}
	in, out := io.Pipe()
	go func() { out.CloseWithError(n.state.save(out)) }()
	err = n.cfg.Store.SaveCheckpoint(ctx, sink.Checkpoint{Name: n.cfg.Name, Marks: marks, Written: now.UTC()}, in)
	_ = in.CloseWithError(err) // lets the writer end
	if err != nil {
		return fmt.Errorf("writing a checkpoint: %w", err)
	}
	n.cfg.Metrics.Checkpoint(now)
	return nil
}

// observedMarks are those of the checkpoint; nil where the evaluation of some partition, be it by another process, is
// too far behind.
func (n *session) observedMarks(ctx context.Context) ([]sink.PartitionMark, error) {
	var newest time.Time
	for _, p := range n.parts {
		if p.frontier.After(newest) {
			newest = p.frontier
		}
	}
	marks := []sink.PartitionMark{}
	for _, source := range n.cfg.Sources {
		stored, err := n.cfg.Store.Marks(ctx, source.Name)
		if err != nil {
			return nil, fmt.Errorf("asking for the marks of %s: %w", source.Name, err)
		}
		at := byName(stored)
		for _, p := range n.parts {
			if p.id.Source != source.Name || source.NoMarks {
				continue
			}
			now := at[p.id.Name]
			done := ingest.Mark(now.Mark).Compare(p.observed) >= 0
			if !done && newest.Sub(now.EventTime) > mostBehind {
				return nil, nil
			}
			marks = append(marks, sink.PartitionMark{Source: source.Name, Partition: p.id.Name, Mark: sink.Mark(p.observed), EventTime: p.frontier})
		}
	}
	return marks, nil
}

func byName(marks []sink.PartitionMark) map[string]sink.PartitionMark {
	out := map[string]sink.PartitionMark{}
	for _, m := range marks {
		out[m.Partition] = m
	}
	return out
}

// savedCluster begins the part of a cluster in a checkpoint.
type savedCluster struct {
	Cluster string      `json:"cluster"`
	Seen    []savedSeen `json:"seen,omitempty"`
}

// save writes all clusters: for each a line of JSON and the replayer's own form, in frames.
func (c *clusterStates) save(out io.Writer) error {
	packed, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(packed, 1<<16)
	for name, state := range c.all {
		head, err := json.Marshal(savedCluster{Cluster: name, Seen: state.seen.save()})
		if err != nil {
			return err
		}
		if err := writeFrames(w, func(w io.Writer) error { _, err := w.Write(head); return err }); err != nil {
			return err
		}
		if err := writeFrames(w, state.replayer.Save); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), packed.Close())
}

// restore takes in the newest checkpoint, and returns its marks by source and partition.
func (s *service) restore(ctx context.Context) (map[ingest.Partition]ingest.Mark, error) {
	marks := map[ingest.Partition]ingest.Mark{}
	c, content, err := s.cfg.Store.LoadCheckpoint(ctx, s.cfg.Name)
	if errors.Is(err, sink.ErrNoCheckpoint) {
		return marks, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the checkpoint: %w", err)
	}
	defer func() { _ = content.Close() }() // It was only read.
	if err := s.state.restore(content); err != nil {
		return nil, fmt.Errorf("reading the checkpoint of %s: %w", c.Written.Format(time.RFC3339), err)
	}
	for _, m := range c.Marks {
		marks[ingest.Partition{Source: m.Source, Name: m.Partition}] = ingest.Mark(m.Mark)
	}
	return marks, nil
}

func (c *clusterStates) restore(in io.Reader) error {
	packed, err := zstd.NewReader(in)
	if err != nil {
		return err
	}
	defer packed.Close()
	r := bufio.NewReaderSize(packed, 1<<16)
	for {
		if _, err := r.Peek(1); err == io.EOF {
			return nil
		}
		var head savedCluster
		line, err := io.ReadAll(&frames{r: r})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(line, &head); err != nil {
			return err
		}
		body := &frames{r: r}
		state, err := c.begin(head.Cluster, body)
		if err != nil {
			return err
		}
		state.seen.restore(head.Seen)
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
	}
}
