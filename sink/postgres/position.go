package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

type move struct {
	key []byte
	sink.Move
}

type delivery struct {
	key []byte
	sink.Delivery
}

func prepareMoves(list []sink.Move) ([]move, error) {
	out := make([]move, len(list))
	for i, m := range list {
		key := table.Digest(m.Source, m.Partition)
		out[i] = move{key[:], m}
	}
	slices.SortFunc(out, func(a, b move) int { return bytes.Compare(a.key, b.key) })
	for i := 1; i < len(out); i++ {
		if bytes.Equal(out[i-1].key, out[i].key) {
			return nil, fmt.Errorf("the batch moves the partition %s:%s twice", out[i].Source, out[i].Partition)
		}
	}
	return out, nil
}

func prepareDeliveries(list []sink.Delivery) ([]delivery, error) {
	out := make([]delivery, len(list))
	for i, d := range list {
		key := table.Digest(d.Source, d.Partition, d.Key)
		out[i] = delivery{key[:], d}
	}
	slices.SortFunc(out, func(a, b delivery) int { return bytes.Compare(a.key, b.key) })
	for i := 1; i < len(out); i++ {
		if bytes.Equal(out[i-1].key, out[i].key) {
			return nil, fmt.Errorf("the batch holds a delivery of %s:%s twice", out[i].Source, out[i].Partition)
		}
	}
	return out, nil
}

const (
	beginSQL = `INSERT INTO vapshadow.positions (row_key, source, partition, source_bytes, partition_bytes, generation, "offset", detail)
		SELECT k, s, p, sb, pb, 0, 0, '' FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[], $5::bytea[]) AS u(k, s, p, sb, pb)
		ON CONFLICT DO NOTHING`
	lockSQL = `SELECT row_key, generation, "offset", detail, event_time FROM vapshadow.positions
		WHERE row_key = ANY($1::bytea[]) ORDER BY row_key FOR UPDATE`
	deliverSQL = `INSERT INTO vapshadow.deliveries (row_key) SELECT unnest($1::bytea[]) ON CONFLICT DO NOTHING RETURNING row_key`
	moveSQL    = `UPDATE vapshadow.positions AS p SET generation = u.g, "offset" = u.o, detail = u.d,
			event_time = greatest(p.event_time, u.e), updated_at = now()
		FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bytea[], $5::timestamptz[]) AS u(k, g, o, d, e)
		WHERE p.row_key = u.k`
)

// claim locks the partitions that the batch moves and writes down its deliveries. It refuses the batch where a partition
// is not where the batch begins, or a delivery is there already. A second writer of the same waits here for the first.
func (p *prepared) claim(ctx context.Context, tx pgx.Tx) error {
	var ask pgx.Batch
	now := make(map[string]sink.PartitionMark)
	if len(p.moves) > 0 {
		queueBegin(&ask, p.moves)
		ask.Queue(lockSQL, column(p.moves, func(m move) []byte { return m.key })).Query(func(rows pgx.Rows) error {
			return scanMarks(rows, now)
		})
	}
	stored := make(map[string]bool)
	if len(p.deliveries) > 0 {
		ask.Queue(deliverSQL, column(p.deliveries, func(d delivery) []byte { return d.key })).Query(func(rows pgx.Rows) error {
			var key []byte
			_, err := pgx.ForEachRow(rows, []any{&key}, func() error { stored[string(key)] = true; return nil })
			return err
		})
	}
	if ask.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, &ask).Close(); err != nil {
		return fmt.Errorf("claiming the partitions of a batch: %w", err)
	}
	return p.refusal(now, stored)
}

func (p *prepared) refusal(now map[string]sink.PartitionMark, stored map[string]bool) error {
	var moved sink.MovedError
	for _, m := range p.moves {
		at := now[string(m.key)]
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
	for _, d := range p.deliveries {
		if !stored[string(d.key)] {
			delivered.Deliveries = append(delivered.Deliveries, d.Delivery)
		}
	}
	if len(delivered.Deliveries) > 0 {
		return &delivered
	}
	return nil
}

// queueBegin makes the rows of partitions that a batch is the first to move.
func queueBegin(out *pgx.Batch, moves []move) {
	first := slices.DeleteFunc(slices.Clone(moves), func(m move) bool { return m.From != sink.Mark{} })
	if len(first) == 0 {
		return
	}
	out.Queue(beginSQL,
		column(first, func(m move) []byte { return m.key }),
		column(first, func(m move) string { return table.Text(m.Source) }),
		column(first, func(m move) string { return table.Text(m.Partition) }),
		column(first, func(m move) []byte { return []byte(m.Source) }),
		column(first, func(m move) []byte { return []byte(m.Partition) }))
}

func queueMoves(out *pgx.Batch, moves []move) {
	if len(moves) == 0 {
		return
	}
	out.Queue(moveSQL,
		column(moves, func(m move) []byte { return m.key }),
		column(moves, func(m move) int64 { return m.To.Generation }),
		column(moves, func(m move) int64 { return m.To.Offset }),
		column(moves, func(m move) []byte { return []byte(m.To.Detail) }),
		column(moves, func(m move) *time.Time {
			if m.EventTime.IsZero() {
				return nil
			}
			at := table.Time(m.EventTime)
			return &at
		}))
}

func column[R, V any](rows []R, value func(R) V) []V {
	out := make([]V, len(rows))
	for i, r := range rows {
		out[i] = value(r)
	}
	return out
}

func scanMarks(rows pgx.Rows, now map[string]sink.PartitionMark) error {
	var key, detail []byte
	var generation, offset int64
	var at *time.Time
	_, err := pgx.ForEachRow(rows, []any{&key, &generation, &offset, &detail, &at}, func() error {
		m := sink.PartitionMark{Mark: sink.Mark{Generation: generation, Offset: offset, Detail: string(detail)}}
		if at != nil {
			m.EventTime = at.UTC()
		}
		now[string(key)] = m
		return nil
	})
	return err
}

// Marks implements sink.Store. The partitions come in the order of their names.
func (s *Store) Marks(ctx context.Context, source string) ([]sink.PartitionMark, error) {
	rows, err := s.pool.Query(ctx, `SELECT partition_bytes, generation, "offset", detail, event_time FROM vapshadow.positions
		WHERE source_bytes = $1 ORDER BY partition_bytes`, []byte(source))
	if err != nil {
		return nil, fmt.Errorf("reading the positions of %s: %w", source, err)
	}
	now := make(map[string]sink.PartitionMark)
	if err := scanMarks(rows, now); err != nil {
		return nil, fmt.Errorf("reading the positions of %s: %w", source, err)
	}
	out := make([]sink.PartitionMark, 0, len(now))
	for partition, m := range now {
		m.Source, m.Partition = source, partition
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b sink.PartitionMark) int { return bytes.Compare([]byte(a.Partition), []byte(b.Partition)) })
	return out, nil
}
