package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/sink"
)

// openBatch gathers what the next transaction writes.
type openBatch struct {
	begun   time.Time
	entries []*entryWork
	subs    []*subBatch
	// texts are the policies of each cluster.
	texts map[string][]engine.Text
	// reached is how far each partition is with this batch and those before it.
	reached map[*part]ingest.Mark
}

// subBatch is what came of a run of one partition's entries, or of one delivery.
type subBatch struct {
	part     *part
	delivery string
	from, to ingest.Mark
	latest   time.Time
	rows     *rows
}

// newOpenBatch makes the batch that follows another.
func newOpenBatch(reached map[*part]ingest.Mark) *openBatch {
	return &openBatch{reached: reached, texts: map[string][]engine.Text{}}
}

func (b *openBatch) any() bool { return len(b.entries) > 0 }

func (b *openBatch) full() bool {
	if len(b.entries) >= batchMostEntries {
		return true
	}
	size := 0
	for _, s := range b.subs {
		size += s.rows.size()
	}
	return size >= batchRows
}

// sub is where the rows of an entry go.
func (b *openBatch) sub(w *entryWork) *subBatch {
	p, delivery := w.portion.part, w.portion.chunk.Delivery
	for _, s := range b.subs {
		if s.part == p && s.delivery == delivery {
			return s
		}
	}
	s := &subBatch{part: p, delivery: delivery, from: b.reached[p], rows: newRows(p.id)}
	b.subs = append(b.subs, s)
	return s
}

// add adds an entry with what its events came to.
func (b *openBatch) add(w *entryWork, of []verdicts, state *clusterState) {
	if !b.any() {
		b.begun = time.Now()
	}
	b.entries = append(b.entries, w)
	if b.texts[w.cluster] == nil {
		b.texts[w.cluster] = state.policies().Texts()
	}
	s := b.sub(w)
	if s.delivery == "" {
		s.to, b.reached[s.part] = w.end, w.end
	}
	if w.latest.After(s.latest) {
		s.latest = w.latest
	}
	letter := sink.DeadLetter{Mark: sink.Mark(w.end), Delivery: s.delivery, At: time.Now().UTC()}
	for _, skip := range w.skips {
		s.rows.skip(w.cluster, skip, letter)
		letter.N++
	}
	for i, d := range w.events {
		leftOut := ""
		switch v := of[i]; {
		case remembered(d) && state.seen.earlier(w.keys[i], d.Event.StageTimestamp, seenAt{partition: s.part.id, end: w.end}):
			leftOut = reasonDuplicate
		case v.err != nil:
			s.rows.count(w.cluster, sink.Ingested, "", 1)
			letter.Reason, letter.Detail = reasonNotEvaluated, v.err.Error()
			s.rows.bury(w.cluster, letter)
			letter.N++
			continue
		}
		s.rows.event(w.cluster, d, leftOut, of[i])
		of[i].recycle()
	}
	for _, t := range w.told {
		s.rows.told(w.cluster, t)
	}
	w.events, w.keys, w.told, w.skips = nil, nil, nil, nil // All that is needed of them is in the rows.
}

const (
	// reasonDuplicate: the same event was delivered before, at another place.
	reasonDuplicate = "Duplicate"
	// reasonOutOfPeriod: the event is not in the period that was asked for.
	reasonOutOfPeriod = "OutOfPeriod"
	// reasonNotEvaluated: the evaluation of the event failed, which is a defect of vapshadow.
	reasonNotEvaluated = "NotEvaluated"
)

// write makes the transaction.
func (b *openBatch) write(known *texts) *sink.Batch {
	out := &sink.Batch{}
	for _, s := range b.subs {
		id := s.part.id
		if s.delivery != "" {
			out.Deliveries = append(out.Deliveries, sink.Delivery{Source: id.Source, Partition: id.Name, Key: s.delivery})
		} else {
			out.Moves = append(out.Moves, sink.Move{
				Source: id.Source, Partition: id.Name, From: sink.Mark(s.from), To: sink.Mark(s.to), EventTime: s.latest,
			})
		}
		s.rows.addTo(out)
	}
	for cluster, of := range b.texts {
		out.Policies = append(out.Policies, known.missing(cluster, of)...)
	}
	return out
}

// commitAll stores the batches, one after the other. After the first that cannot be stored it stores no more.
func (n *session) commitAll(ctx context.Context) error {
	defer close(n.committed)
	for b := range n.commits {
		if err := n.commit(ctx, b); err != nil {
			close(n.failed)
			n.refuse(b, err)
			for b := range n.commits {
				n.refuse(b, err)
			}
			return err
		}
		n.committed <- b
		n.wake()
	}
	return nil
}

func (n *session) refuse(b *openBatch, err error) {
	for _, w := range b.entries {
		w.portion.refuse(err)
	}
}

// commit stores a batch. As long as the store fails it tries again: nothing else can be done without losing events.
// When the context ends, it has ShutdownTimeout left.
func (n *session) commit(ctx context.Context, b *openBatch) error {
	storing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(n.cfg.ShutdownTimeout):
			cancel()
		case <-storing.Done():
		}
	})
	defer stop()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		batch := b.write(n.texts)
		begun := time.Now()
		err := n.cfg.Store.Commit(storing, batch)
		n.cfg.Metrics.Commit(batch, time.Since(begun), err)
		switch moved, delivered := errorAs[*sink.MovedError](err), errorAs[*sink.DeliveredError](err); {
		case err == nil:
			n.cfg.Status.stores(nil)
			n.texts.stored(batch.Policies)
			n.stored(b)
			return nil
		case moved != nil && b.isAt(moved.Now):
			n.cfg.Status.stores(nil)
			n.stored(b)
			return nil // The reply to an earlier try was lost.
		case moved != nil:
			n.cfg.Status.stores(nil)
			n.cfg.Log.Info("another process has moved on; reading again from where the store is", "moved", moved.Error())
			return errMoved
		case delivered != nil:
			n.cfg.Status.stores(nil)
			b.drop(delivered.Deliveries)
			if len(b.subs) == 0 {
				return nil
			}
			continue
		case storing.Err() != nil:
			return storing.Err()
		}
		n.cfg.Status.stores(err)
		n.cfg.Log.Error("storing failed, and is tried again", "in", wait, "error", err)
		select {
		case <-time.After(wait):
		case <-storing.Done():
			return storing.Err()
		}
	}
}

func errorAs[E error](err error) E {
	var e E
	errors.As(err, &e)
	return e
}

// isAt says whether all that the batch moves is where it would be with the batch written.
func (b *openBatch) isAt(now []sink.PartitionMark) bool {
	for _, s := range b.subs {
		if s.delivery != "" {
			continue
		}
		if !slices.ContainsFunc(now, func(m sink.PartitionMark) bool {
			return m.Source == s.part.id.Source && m.Partition == s.part.id.Name && m.Mark == sink.Mark(s.to)
		}) {
			return false
		}
	}
	return true
}

// drop leaves out deliveries that are stored already.
func (b *openBatch) drop(deliveries []sink.Delivery) {
	b.subs = slices.DeleteFunc(b.subs, func(s *subBatch) bool {
		return s.delivery != "" && slices.Contains(deliveries, sink.Delivery{Source: s.part.id.Source, Partition: s.part.id.Name, Key: s.delivery})
	})
}

// stored tells the sources how far the store is.
func (n *session) stored(b *openBatch) {
	for _, s := range b.subs {
		if s.delivery == "" && s.part.source.Committed != nil {
			s.part.source.Committed(s.part.id.Name, s.to)
		}
	}
}
