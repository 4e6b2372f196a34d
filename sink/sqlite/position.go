package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/batch"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

const (
	beginSQL = `INSERT INTO positions (row_key, source, partition, source_bytes, partition_bytes, generation, "offset", detail, updated_at)
		VALUES (?, ?, ?, ?, ?, 0, 0, x'', ?) ON CONFLICT DO NOTHING`
	lockSQL = `SELECT row_key, generation, "offset", detail, event_time FROM positions WHERE row_key = ?`
	moveSQL = `UPDATE positions SET generation = ?1, "offset" = ?2, detail = ?3,
		event_time = max(coalesce(event_time, ?4), coalesce(?4, event_time)), updated_at = ?5 WHERE row_key = ?6`
	deliverSQL = `INSERT INTO deliveries (row_key, stored_at) VALUES (?, ?) ON CONFLICT DO NOTHING`
)

// claim moves the partitions and writes down the deliveries. It refuses the batch where a partition is not where the
// batch begins, or a delivery is there already.
func claim(ctx context.Context, conn *sql.Conn, p *batch.Prepared) error {
	now, fresh := make(map[string]sink.PartitionMark), make(map[string]bool)
	for _, m := range p.Moves {
		rows, err := conn.QueryContext(whole(ctx), lockSQL, m.Key)
		if err != nil {
			return fmt.Errorf("reading the position of %s:%s: %w", m.Source, m.Partition, err)
		}
		if err := scanMarks(rows, now); err != nil {
			return fmt.Errorf("reading the position of %s:%s: %w", m.Source, m.Partition, err)
		}
	}
	at := formatTime(time.Now())
	for _, d := range p.Deliveries {
		result, err := conn.ExecContext(ctx, deliverSQL, d.Key, at)
		if err != nil {
			return fmt.Errorf("writing down a delivery: %w", err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return fmt.Errorf("writing down a delivery: %w", err)
		}
		fresh[string(d.Key)] = n == 1
	}
	if err := p.Refusal(now, fresh); err != nil {
		return err
	}
	for _, m := range p.Moves {
		_, err := conn.ExecContext(ctx, beginSQL, m.Key, table.Text(m.Source), table.Text(m.Partition), []byte(m.Source), []byte(m.Partition), at)
		if err == nil {
			var event any
			if !m.EventTime.IsZero() {
				event = formatTime(m.EventTime)
			}
			_, err = conn.ExecContext(ctx, moveSQL, m.To.Generation, m.To.Offset, []byte(m.To.Detail), event, at, m.Key)
		}
		if err != nil {
			return fmt.Errorf("moving %s:%s: %w", m.Source, m.Partition, err)
		}
	}
	return nil
}

func scanMarks(rows *sql.Rows, now map[string]sink.PartitionMark) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key, detail []byte
		var m sink.PartitionMark
		var at sql.NullString
		if err := rows.Scan(&key, &m.Mark.Generation, &m.Mark.Offset, &detail, &at); err != nil {
			return err
		}
		m.Mark.Detail = string(detail)
		if at.Valid {
			if m.EventTime, err = parseTime(at.String); err != nil {
				return err
			}
		}
		now[string(key)] = m
	}
	return rows.Err()
}

// Marks implements sink.Store. The partitions come in the order of their names.
func (s *Store) Marks(ctx context.Context, source string) ([]sink.PartitionMark, error) {
	rows, err := s.readers.QueryContext(ctx, `SELECT partition_bytes, generation, "offset", detail, event_time FROM positions
		WHERE source_bytes = ?`, []byte(source))
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
