// Package sqlite is the store for one machine: one file, no server.
package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/migrate"
)

// Store is a sink.Database in a file. Several processes may open one file; they write one at a time.
type Store struct {
	// writer has one connection: SQLite has one writer at a time, and waiting for it in Go heeds a context.
	writer  *sql.DB
	readers *sql.DB
	// name names this process where it notes which days it changes.
	name string
}

var _ sink.Database = (*Store)(nil)

// Open opens a file whose schema is up to date; else the error is a *sink.SchemaError.
func Open(ctx context.Context, file string) (*Store, error) {
	switch _, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("opening the database %s: %w", file, migrate.Check("sqlite", 0))
	case err != nil:
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	s := &Store{name: rand.Text()}
	var err error
	if s.writer, err = openSQL(file, "_txlock=immediate"); err != nil {
		return nil, err
	}
	s.writer.SetMaxOpenConns(1)
	if s.readers, err = openSQL(file, "_pragma=query_only(1)"); err != nil {
		return nil, errors.Join(err, s.writer.Close())
	}
	s.readers.SetMaxOpenConns(4)
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database %s: %w", file, err), s.Close())
	}
	return s, nil
}

// openSQL opens a file with what every connection needs:
//
//   - WAL, so that readers and the writer do not wait for each other;
//   - synchronous=FULL, since a commit is the promise that the events need not be read again: with NORMAL, the default
//     for WAL, a power failure may undo the last commits;
//   - a busy timeout, since other processes may write to the file.
func openSQL(file string, more ...string) (*sql.DB, error) {
	options := append([]string{
		"_pragma=busy_timeout(30000)", "_pragma=auto_vacuum(incremental)", "_pragma=foreign_keys(1)", "_pragma=journal_mode(WAL)",
		"_pragma=synchronous(FULL)", "mode=rw",
	}, more...)
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?"+strings.Join(options, "&"))
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	return db, nil
}

func (s *Store) check(ctx context.Context) error {
	var exists bool
	if err := s.readers.QueryRowContext(ctx, schema.Exists).Scan(&exists); err != nil {
		return err
	}
	var version int64
	if exists {
		if err := s.readers.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM schema_migrations WHERE is_applied`).Scan(&version); err != nil {
			return err
		}
	}
	return migrate.Check("sqlite", version)
}

// Ping implements sink.Store. It waits for a writer that is at work.
func (s *Store) Ping(ctx context.Context) error {
	err := s.write(ctx, func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, `UPDATE positions SET detail = detail WHERE false`)
		return err
	})
	if err != nil {
		return fmt.Errorf("the database cannot be written to: %w", err)
	}
	return nil
}

// Close closes the file.
func (s *Store) Close() error { return errors.Join(s.readers.Close(), s.writer.Close()) }
