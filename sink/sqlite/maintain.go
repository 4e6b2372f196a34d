package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// maxDeleted is how many rows one transaction deletes: others write in between.
const maxDeleted = 1000

// Maintain implements sink.Maintainer. It gives the room of what it deletes back to the file system.
func (s *Store) Maintain(ctx context.Context, retention time.Duration, now time.Time) error {
	if retention < 0 {
		return fmt.Errorf("the retention is %v; it has to be 0 (keep all) or more", retention)
	}
	if retention == 0 {
		return nil
	}
	day := table.Day(now.Add(-retention))
	if err := s.unseal(ctx, day); err != nil {
		return err
	}
	firstKept := formatTime(day)
	for _, column := range []struct{ table, time string }{
		{"failures", "stage_timestamp"}, {"annotations", "stage_timestamp"}, {"rollups", "minute"}, {"dead_letters", "at"},
		{"deliveries", "stored_at"}, {"agreement", "last_event"}, {"agreement_runs", "last_event"},
	} {
		if err := s.deleteBefore(ctx, column.table, column.time, firstKept); err != nil {
			return fmt.Errorf("deleting rows past the retention: %w", err)
		}
	}
	// Again: somebody may have sealed a day meanwhile, as it was before.
	if err := s.unseal(ctx, day); err != nil {
		return err
	}
	return s.vacuum(ctx)
}

func (s *Store) deleteBefore(ctx context.Context, name, column, firstKept string) error {
	query := fmt.Sprintf(`DELETE FROM %[1]s WHERE rowid IN (SELECT rowid FROM %[1]s WHERE %[2]s < ? LIMIT %[3]d)`, name, column, maxDeleted)
	for {
		var deleted int64
		err := s.write(ctx, func(conn *sql.Conn) error {
			result, err := conn.ExecContext(ctx, query, firstKept)
			if err != nil {
				return err
			}
			deleted, err = result.RowsAffected()
			return err
		})
		if err != nil || deleted < maxDeleted {
			return err
		}
	}
}

// maxFreed is how many pages are freed in one go: 2 MiB. Others write in between.
const maxFreed = 500

// vacuum frees the empty pages.
func (s *Store) vacuum(ctx context.Context) error {
	for before := int64(-1); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var free int64
		if err := s.writer.QueryRowContext(whole(ctx), `PRAGMA freelist_count`).Scan(&free); err != nil {
			return fmt.Errorf("freeing the room of deleted rows: %w", err)
		}
		if free == 0 || free == before {
			return nil
		}
		if err := s.free(ctx); err != nil {
			return fmt.Errorf("freeing the room of deleted rows: %w", err)
		}
		before = free
	}
}

// free frees some pages. The pragma gives a row for each step, and is done when these have been read.
func (s *Store) free(ctx context.Context) (err error) {
	rows, err := s.writer.QueryContext(whole(ctx), fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, maxFreed))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
	}
	return rows.Err()
}
