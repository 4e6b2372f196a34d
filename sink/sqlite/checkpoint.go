package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// SaveCheckpoint implements sink.Store. An error of the content's reader leaves everything as it was. Written is now
// where it is zero. Nothing else can be written while the content is read.
func (s *Store) SaveCheckpoint(ctx context.Context, c sink.Checkpoint, content io.Reader) error {
	marks, err := table.MarshalMarks(c.Marks)
	if err != nil {
		return err
	}
	if c.Written.IsZero() {
		c.Written = time.Now()
	}
	err = s.write(ctx, func(conn *sql.Conn) error {
		result, err := conn.ExecContext(ctx, `INSERT INTO checkpoints (name, marks, written) VALUES (?, ?, ?)`,
			[]byte(c.Name), marks, formatTime(c.Written))
		if err != nil {
			return err
		}
		id, err := result.LastInsertId()
		if err != nil {
			return err
		}
		if err := table.Chunks(content, func(n int32, chunk []byte) error {
			_, err := conn.ExecContext(ctx, `INSERT INTO checkpoint_chunks (checkpoint_id, n, content) VALUES (?, ?, ?)`, id, n, chunk)
			return err
		}); err != nil {
			return err
		}
		_, err = conn.ExecContext(ctx, `DELETE FROM checkpoints WHERE name = ?1 AND id NOT IN
			(SELECT id FROM checkpoints WHERE name = ?1 ORDER BY id DESC LIMIT 2)`, []byte(c.Name))
		return err
	})
	if err != nil {
		return fmt.Errorf("saving the checkpoint %s: %w", c.Name, err)
	}
	return nil
}

// LoadCheckpoint implements sink.Store. The content is read from the file as it is read here; the caller closes it.
func (s *Store) LoadCheckpoint(ctx context.Context, name string) (sink.Checkpoint, io.ReadCloser, error) {
	// All chunks are of one state of the file, whatever others save meanwhile.
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return sink.Checkpoint{}, nil, fmt.Errorf("loading the checkpoint %s: %w", name, err)
	}
	c, id, err := findCheckpoint(ctx, tx, name)
	if err != nil {
		return sink.Checkpoint{}, nil, errors.Join(err, tx.Rollback())
	}
	next := func(n int32) ([]byte, error) {
		var chunk []byte
		err := tx.QueryRowContext(ctx, `SELECT content FROM checkpoint_chunks WHERE checkpoint_id = ? AND n = ?`, id, n).Scan(&chunk)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, io.EOF
		}
		if err != nil {
			return nil, fmt.Errorf("loading the checkpoint %s: %w", name, err)
		}
		return chunk, nil
	}
	return c, table.ChunkReader(next, tx.Rollback), nil
}

func findCheckpoint(ctx context.Context, tx *sql.Tx, name string) (c sink.Checkpoint, id int64, err error) {
	var marks []byte
	err = tx.QueryRowContext(ctx, `SELECT id, marks, written FROM checkpoints WHERE name = ? ORDER BY id DESC LIMIT 1`,
		[]byte(name)).Scan(&id, &marks, scanner{&c.Written})
	if errors.Is(err, sql.ErrNoRows) {
		return c, 0, sink.ErrNoCheckpoint
	}
	if err != nil {
		return c, 0, fmt.Errorf("loading the checkpoint %s: %w", name, err)
	}
	c.Name = name
	c.Marks, err = table.UnmarshalMarks(marks)
	return c, id, err
}
