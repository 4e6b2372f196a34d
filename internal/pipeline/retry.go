package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/sink"
)

// Retried says what became of a dead letter.
type Retried struct {
	Letter sink.DeadLetter
	// Requests are the admission requests that it came to.
	Requests int
	// Err is why it stays what it is; nil where it is a dead letter no more.
	Err error
}

// ErrStillDead says that an entry cannot be used now either.
var ErrStillDead = errors.New("it cannot be used now either")

// Retry reads the entries of dead letters again, evaluates what can be used by now, and stores it in the place of the
// dead letter. It knows of the clusters what the newest checkpoint says, so that verdicts may be Unknown which were not
// at the time. The store is told of each by itself: what is interrupted can be done again.
func Retry(ctx context.Context, cfg ServeConfig, letters []sink.DeadLetter, each func(Retried)) error {
	s := newService(cfg)
	s.state.ctx = ctx
	defer s.state.clear()
	if err := s.begin(ctx); err != nil {
		return err
	}
	for _, letter := range letters {
		requests, err := s.retry(ctx, letter)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		each(Retried{Letter: letter, Requests: requests, Err: err})
	}
	return nil
}

func (s *service) retry(ctx context.Context, letter sink.DeadLetter) (requests int, err error) {
	i := slices.IndexFunc(s.cfg.Sources, func(of ServedSource) bool { return of.Name == letter.Source })
	if i < 0 {
		return 0, fmt.Errorf("the configuration has no source %q", letter.Source)
	}
	source := s.cfg.Sources[i]
	if source.NoMarks {
		return 0, errors.New("what a webhook delivered cannot be read again")
	}
	entry, err := readAgain(ctx, source, letter)
	if err != nil {
		return 0, err
	}
	events, skips := ingest.Decode(entry)
	switch {
	case len(events) == 0:
		return 0, ErrStillDead
	case len(events)+len(skips) > 1:
		return 0, fmt.Errorf("the entry holds %d events, some of which have counted", len(events)+len(skips))
	}
	return s.resolve(ctx, letter, replay.Decode(events[0]))
}

// readAgain reads the entry that ends at a mark.
func readAgain(ctx context.Context, source ServedSource, letter sink.DeadLetter) (ingest.Entry, error) {
	mark := ingest.Mark(letter.Mark)
	from := ingest.Mark{Generation: mark.Generation, Detail: mark.Detail} // the beginning of the file
	if source.Messages {
		from.Offset = mark.Offset - 1
	}
	stream, err := source.Source.Open(ctx, letter.Partition, from)
	if err != nil {
		return ingest.Entry{}, err
	}
	defer func() { _ = stream.Close() }() // It was only read.
	for {
		chunk, err := stream.Next(ctx)
		if err != nil && !errors.Is(err, io.EOF) {
			return ingest.Entry{}, err
		}
		for i, end := range chunk.Ends {
			switch c := end.Compare(mark); {
			case c == 0:
				return chunk.Entries[i], nil
			case c > 0:
				return ingest.Entry{}, errors.New("the source does not hold the entry any more")
			}
		}
		if err != nil || chunk.CaughtUp && len(chunk.Entries) == 0 {
			return ingest.Entry{}, errors.New("the source does not hold the entry any more")
		}
	}
}

// resolve stores what an event came to in the place of its dead letter.
func (s *service) resolve(ctx context.Context, letter sink.DeadLetter, d *replay.Decoded) (requests int, err error) {
	state, err := s.state.of(letter.Cluster)
	if err != nil {
		return 0, err
	}
	id := ingest.Partition{Source: letter.Source, Name: letter.Partition}
	at := seenAt{partition: id, end: ingest.Mark(letter.Mark)}
	key := keyOf(d)
	state.observe(d, key, at)
	var v verdicts
	leftOut := ""
	switch {
	case remembered(d) && state.seen.earlier(key, d.Event.StageTimestamp, at):
		leftOut = reasonDuplicate
	case d.Operation != "":
		if v = state.decide(d); v.err != nil {
			return 0, v.err
		}
	}
	r := newRows(id)
	r.event(letter.Cluster, d, leftOut, v)
	r.count(letter.Cluster, sink.Ingested, "", -1) // It had counted as a dead letter.
	r.count(letter.Cluster, sink.DeadLettered, letter.Reason, -1)
	batch := &sink.Batch{Resolved: []sink.DeadLetter{letter}}
	r.addTo(batch)
	for _, text := range state.policies().Texts() {
		batch.Policies = append(batch.Policies, sink.PolicyText{Cluster: letter.Cluster, Kind: text.Kind, Name: text.Name, Hash: text.Hash, Text: text.JSON})
	}
	begun := time.Now()
	err = s.cfg.Store.Commit(ctx, batch)
	s.cfg.Metrics.Commit(batch, time.Since(begun), err)
	return len(v.records), err
}
