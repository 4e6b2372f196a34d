package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// SaveCheckpoint implements sink.Store. An error of the content's reader leaves everything as it was. Written is now
// where it is zero.
func (s *Store) SaveCheckpoint(ctx context.Context, c sink.Checkpoint, content io.Reader) error {
	marks, err := table.MarshalMarks(c.Marks)
	if err != nil {
		return err
	}
	if c.Written.IsZero() {
		c.Written = time.Now()
	}
	// The content can be read but once, so a failure is not tried again here.
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		var id int64
		err := tx.QueryRow(ctx, `INSERT INTO vapshadow.checkpoints (name, marks, written) VALUES ($1, $2, $3) RETURNING id`,
			[]byte(c.Name), marks, table.Time(c.Written)).Scan(&id)
		if err != nil {
			return err
		}
		if err := table.Chunks(content, func(n int32, chunk []byte) error {
			_, err := tx.Exec(ctx, `INSERT INTO vapshadow.checkpoint_chunks (checkpoint_id, n, content) VALUES ($1, $2, $3)`, id, n, chunk)
			return err
		}); err != nil {
			return err
		}
		// One at a time from here on: each sees what the one before it stored, and so two remain.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('vapshadow.checkpoints'))`); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM vapshadow.checkpoints WHERE name = $1 AND id NOT IN
			(SELECT id FROM vapshadow.checkpoints WHERE name = $1 ORDER BY id DESC LIMIT 2)`, []byte(c.Name))
		return err
	})
	if err != nil {
		return fmt.Errorf("saving the checkpoint %s: %w", c.Name, err)
	}
	return nil
}

// LoadCheckpoint implements sink.Store. The content is read from the database as it is read here; the caller closes it.
func (s *Store) LoadCheckpoint(ctx context.Context, name string) (sink.Checkpoint, io.ReadCloser, error) {
	// All chunks are of one state of the database, whatever others save meanwhile.
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return sink.Checkpoint{}, nil, fmt.Errorf("loading the checkpoint %s: %w", name, err)
	}
	c, id, err := findCheckpoint(ctx, tx, name)
	if err != nil {
		return sink.Checkpoint{}, nil, errors.Join(err, tx.Rollback(ctx))
	}
	next := func(n int32) ([]byte, error) {
		var chunk []byte
		err := tx.QueryRow(ctx, `SELECT content FROM vapshadow.checkpoint_chunks WHERE checkpoint_id = $1 AND n = $2`, id, n).Scan(&chunk)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, io.EOF
		}
		if err != nil {
			return nil, fmt.Errorf("loading the checkpoint %s: %w", name, err)
		}
		return chunk, nil
	}
	return c, table.ChunkReader(next, func() error { return tx.Rollback(context.WithoutCancel(ctx)) }), nil
}

func findCheckpoint(ctx context.Context, tx pgx.Tx, name string) (c sink.Checkpoint, id int64, err error) {
	var marks []byte
	err = tx.QueryRow(ctx, `SELECT id, marks, written FROM vapshadow.checkpoints WHERE name = $1 ORDER BY id DESC LIMIT 1`,
		[]byte(name)).Scan(&id, &marks, &c.Written)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, 0, sink.ErrNoCheckpoint
	}
	if err != nil {
		return c, 0, fmt.Errorf("loading the checkpoint %s: %w", name, err)
	}
	c.Name, c.Written = name, c.Written.UTC()
	c.Marks, err = table.UnmarshalMarks(marks)
	return c, id, err
}
