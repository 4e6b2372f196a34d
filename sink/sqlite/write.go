package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/batch"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// Commit implements sink.Store.
func (s *Store) Commit(ctx context.Context, b *sink.Batch) error {
	p, err := batch.Prepare(b)
	if err != nil {
		return err
	}
	return s.write(ctx, func(conn *sql.Conn) error {
		if err := claim(ctx, conn, p); err != nil {
			return err
		}
		if err := resolve(ctx, conn, p.Resolved); err != nil {
			return err
		}
		if err := insertAll(ctx, conn, p); err != nil {
			return fmt.Errorf("writing a batch: %w", err)
		}
		return change(ctx, conn, s.name, rand.Text(), p.CountedDays())
	})
}

// resolve removes dead letters, all of which have to be there.
func resolve(ctx context.Context, conn *sql.Conn, keys [][]byte) error {
	for _, key := range keys {
		done, err := conn.ExecContext(ctx, "DELETE FROM dead_letters WHERE row_key = ?", key)
		if err != nil {
			return fmt.Errorf("removing dead letters: %w", err)
		}
		if n, err := done.RowsAffected(); err != nil || n != 1 {
			return errors.Join(sink.ErrResolved, err)
		}
	}
	return nil
}

// write runs one transaction, as the only writer of the file. It does without sql.Tx: that gives a connection whose
// COMMIT failed back to the pool, with the transaction still open.
func (s *Store) write(ctx context.Context, do func(*sql.Conn) error) (err error) {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	defer func() {
		if closing := conn.Close(); !errors.Is(closing, sql.ErrConnDone) { // it was given up, see abandon
			err = errors.Join(err, closing)
		}
	}()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return errors.Join(fmt.Errorf("beginning a transaction: %w", err), abandon(conn))
	}
	if err := do(conn); err != nil {
		return errors.Join(err, abandon(conn))
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return errors.Join(fmt.Errorf("committing: %w", err), abandon(conn))
	}
	return nil
}

// whole is for what the writer reads: it does not end early. Where a context ends just as the driver has the first row, the
// driver forgets the statement, and then neither a rollback nor closing the connection gives up the lock on the file.
func whole(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// abandon rolls back. Where SQLite has done so itself, or cannot, the connection is given up, which rolls back too.
func abandon(conn *sql.Conn) error {
	if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err == nil {
		return nil
	}
	err := conn.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

// What to do with a row that is there already.
const (
	keep = "DO NOTHING"
	add  = "DO UPDATE SET count = count + excluded.count"
)

func insertAll(ctx context.Context, conn *sql.Conn, p *batch.Prepared) error {
	for _, rows := range []func() error{
		func() error { return insert(ctx, conn, table.Policies, p.Policies, keep) },
		func() error { return insert(ctx, conn, table.Failures, p.Failures, keep) },
		func() error { return insert(ctx, conn, table.Annotations, p.Annotations, keep) },
		func() error { return insert(ctx, conn, table.Rollups, p.Rollups, add) },
		func() error { return insert(ctx, conn, table.Ledger, p.Ledger, add) },
		func() error { return insert(ctx, conn, table.DeadLetters, p.DeadLetters, keep) },
	} {
		if err := rows(); err != nil {
			return err
		}
	}
	return nil
}

func insert[T any](ctx context.Context, conn *sql.Conn, t *table.Table[T], rows []table.Row[T], conflict string) (err error) {
	if len(rows) == 0 {
		return nil
	}
	target := "row_key"
	if t.Time != "" {
		target = t.Time + ", row_key"
	}
	stmt, err := conn.PrepareContext(ctx, fmt.Sprintf("INSERT INTO %s (row_key, %s) VALUES (?%s) ON CONFLICT (%s) %s",
		t.Name, strings.Join(t.Names(), ", "), strings.Repeat(", ?", len(t.Columns)), target, conflict))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	args := make([]any, 1+len(t.Columns))
	for _, r := range rows {
		args[0] = r.Key[:]
		for i, c := range t.Columns {
			if args[i+1], err = value(c.Field(r.Row)); err != nil {
				return err
			}
		}
		if _, err := stmt.ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}
