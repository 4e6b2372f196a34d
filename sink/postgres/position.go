package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/batch"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

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
func claim(ctx context.Context, tx pgx.Tx, p *batch.Prepared) error {
	var ask pgx.Batch
	now := make(map[string]sink.PartitionMark)
	if len(p.Moves) > 0 {
		queueBegin(&ask, p.Moves)
		ask.Queue(lockSQL, column(p.Moves, func(m batch.Move) []byte { return m.Key })).Query(func(rows pgx.Rows) error {
			return scanMarks(rows, now)
		})
	}
	fresh := make(map[string]bool)
	if len(p.Deliveries) > 0 {
		ask.Queue(deliverSQL, column(p.Deliveries, func(d batch.Delivery) []byte { return d.Key })).Query(func(rows pgx.Rows) error {
			var key []byte
			_, err := pgx.ForEachRow(rows, []any{&key}, func() error { fresh[string(key)] = true; return nil })
			return err
		})
	}
	if ask.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, &ask).Close(); err != nil {
		return fmt.Errorf("claiming the partitions of a batch: %w", err)
	}
	return p.Refusal(now, fresh)
}

// queueBegin makes the rows of partitions that a batch is the first to move.
func queueBegin(out *pgx.Batch, moves []batch.Move) {
	first := slices.DeleteFunc(slices.Clone(moves), func(m batch.Move) bool { return m.From != sink.Mark{} })
	if len(first) == 0 {
		return
	}
	out.Queue(beginSQL,
		column(first, func(m batch.Move) []byte { return m.Key }),
		column(first, func(m batch.Move) string { return table.Text(m.Source) }),
		column(first, func(m batch.Move) string { return table.Text(m.Partition) }),
		column(first, func(m batch.Move) []byte { return []byte(m.Source) }),
		column(first, func(m batch.Move) []byte { return []byte(m.Partition) }))
}

func queueMoves(out *pgx.Batch, moves []batch.Move) {
	if len(moves) == 0 {
		return
	}
	out.Queue(moveSQL,
		column(moves, func(m batch.Move) []byte { return m.Key }),
		column(moves, func(m batch.Move) int64 { return m.To.Generation }),
		column(moves, func(m batch.Move) int64 { return m.To.Offset }),
		column(moves, func(m batch.Move) []byte { return []byte(m.To.Detail) }),
		column(moves, func(m batch.Move) *time.Time {
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
		WHERE source_bytes = $1`, []byte(source))
	if err != nil {
		return nil, fmt.Errorf("reading the positions of %s: %w", source, err)
	}
	now := make(map[string]sink.PartitionMark)
	if err := scanMarks(rows, now); err != nil {
		return nil, fmt.Errorf("reading the positions of %s: %w", source, err)
	}
	out := make([]sink.PartitionMark, 0, len(now))
	for _, partition := range slices.Sorted(maps.Keys(now)) {
		m := now[partition]
		m.Source, m.Partition = source, partition
		out = append(out, m)
	}
	return out, nil
}
