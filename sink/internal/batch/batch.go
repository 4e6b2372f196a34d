// Package batch makes a batch ready to be written, the same way for all stores.
package batch

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// Prepared is a batch ready to be written: cleaned, keyed, and in the order that all writers take their locks in. A row
// of a key is there once.
type Prepared struct {
	Moves       []Move
	Deliveries  []Delivery
	Failures    []table.Row[sink.Failure]
	Annotations []table.Row[sink.Annotation]
	Rollups     []table.Row[sink.Rollup]
	Ledger      []table.Row[sink.LedgerLine]
	DeadLetters []table.Row[sink.DeadLetter]
	Policies    []table.Row[sink.PolicyText]
	// Resolved are the keys of dead letters to be removed.
	Resolved [][]byte
}

// Move is a move with the key of its partition.
type Move struct {
	Key []byte
	sink.Move
}

// Delivery is a delivery with its key.
type Delivery struct {
	Key []byte
	sink.Delivery
}

// Prepare prepares a batch, which stays as it is.
func Prepare(b *sink.Batch) (*Prepared, error) {
	moves, err := prepareMoves(b.Moves)
	if err != nil {
		return nil, err
	}
	deliveries, err := prepareDeliveries(b.Deliveries)
	if err != nil {
		return nil, err
	}
	b = table.Clean(b)
	return &Prepared{
		Moves: moves, Deliveries: deliveries,
		Failures:    table.First(table.Failures.Sorted(b.Failures)),
		Annotations: table.First(table.Annotations.Sorted(b.Annotations)),
		Rollups:     table.Sum(table.Rollups.Sorted(b.Rollups), func(r *sink.Rollup) *int64 { return &r.Count }),
		Ledger:      table.Sum(table.Ledger.Sorted(b.Ledger), func(r *sink.LedgerLine) *int64 { return &r.Count }),
		DeadLetters: table.First(table.DeadLetters.Sorted(b.DeadLetters)),
		Policies:    table.First(table.Policies.Sorted(b.Policies)),
		Resolved:    keysOf(table.First(table.DeadLetters.Sorted(b.Resolved))),
	}, nil
}

func keysOf[T any](rows []table.Row[T]) [][]byte {
	out := make([][]byte, len(rows))
	for i := range rows {
		out[i] = rows[i].Key[:]
	}
	return out
}

func prepareMoves(list []sink.Move) ([]Move, error) {
	out := make([]Move, len(list))
	for i, m := range list {
		if m.To.Compare(m.From) < 0 {
			return nil, fmt.Errorf("the batch moves the partition %s:%s back, from %d/%d to %d/%d", m.Source, m.Partition,
				m.From.Generation, m.From.Offset, m.To.Generation, m.To.Offset)
		}
		key := table.Digest(m.Source, m.Partition)
		out[i] = Move{key[:], m}
	}
	slices.SortFunc(out, func(a, b Move) int { return bytes.Compare(a.Key, b.Key) })
	for i := 1; i < len(out); i++ {
		if bytes.Equal(out[i-1].Key, out[i].Key) {
			return nil, fmt.Errorf("the batch moves the partition %s:%s twice", out[i].Source, out[i].Partition)
		}
	}
	return out, nil
}

func prepareDeliveries(list []sink.Delivery) ([]Delivery, error) {
	out := make([]Delivery, len(list))
	for i, d := range list {
		key := table.Digest(d.Source, d.Partition, d.Key)
		out[i] = Delivery{key[:], d}
	}
	slices.SortFunc(out, func(a, b Delivery) int { return bytes.Compare(a.Key, b.Key) })
	for i := 1; i < len(out); i++ {
		if bytes.Equal(out[i-1].Key, out[i].Key) {
			return nil, fmt.Errorf("the batch holds a delivery of %s:%s twice", out[i].Source, out[i].Partition)
		}
	}
	return out, nil
}

// Days are the days that the batch has rows of, in the tables that are split into days.
func (p *Prepared) Days() []time.Time {
	return distinct(p.CountedDays(), table.Annotations.Days(p.Annotations))
}

// CountedDays are the days that the batch has failures or rollups of.
func (p *Prepared) CountedDays() []time.Time {
	return distinct(table.Failures.Days(p.Failures), table.Rollups.Days(p.Rollups))
}

func distinct(lists ...[]time.Time) []time.Time {
	all := slices.Concat(lists...)
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

// Refusal says why the batch must not be written: now has where its partitions are, by key; fresh has the keys of the
// deliveries that were not stored before. The error is nil, a *sink.MovedError or a *sink.DeliveredError.
func (p *Prepared) Refusal(now map[string]sink.PartitionMark, fresh map[string]bool) error {
	var moved sink.MovedError
	for _, m := range p.Moves {
		at := now[string(m.Key)]
		if at.Mark != m.From {
			moved.Now = append(moved.Now, sink.PartitionMark{
				Source: m.Source, Partition: m.Partition, Mark: at.Mark, EventTime: at.EventTime,
			})
		}
	}
	if len(moved.Now) > 0 {
		return &moved
	}
	var delivered sink.DeliveredError
	for _, d := range p.Deliveries {
		if !fresh[string(d.Key)] {
			delivered.Deliveries = append(delivered.Deliveries, d.Delivery)
		}
	}
	if len(delivered.Deliveries) > 0 {
		return &delivered
	}
	return nil
}
