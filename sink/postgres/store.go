// Package postgres is the store for more than one process: Postgres 14 and later.
//
// All that it keeps is in the schema vapshadow, which is made by Migrate. So a role needs rights on one schema and no
// other, and search_path plays no part.
package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/migrate"
)

// Store is a sink.Database in Postgres.
type Store struct {
	pool *pgxpool.Pool
	days days
	// writer names this process where it notes which days it changes.
	writer string
}

var _ sink.Database = (*Store)(nil)

// Open connects to a database whose schema is up to date; else the error is a *sink.SchemaError. The URL is as libpq
// knows it, with the options of pgxpool: pool_max_conns, …
func Open(ctx context.Context, url string) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, addressError(url, err)
	}
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "vapshadow"
	}
	cfg.AfterConnect = durable
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to the database: %w", err)
	}
	s := &Store{pool: pool, writer: rand.Text()}
	version, err := s.version(ctx)
	if err == nil {
		err = migrate.Check("postgres", version)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// durable sees to it that a commit that was confirmed outlives a crash of the server, however the server is set.
func durable(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`)
	return err
}

// version is the version of the schema, 0 for none.
func (s *Store) version(ctx context.Context) (int64, error) {
	var version int64
	err := s.pool.QueryRow(ctx, `SELECT version FROM vapshadow.v_schema`).Scan(&version)
	switch code(err) {
	case "":
		if err != nil {
			return 0, fmt.Errorf("connecting to the database: %w", err)
		}
		return version, nil
	case undefinedTable, invalidSchema:
		return 0, nil
	default:
		return 0, fmt.Errorf("reading the version of the schema: %w", err)
	}
}

// Ping implements sink.Store. A standby, or a role without the rights, is an error.
func (s *Store) Ping(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, `UPDATE vapshadow.positions SET detail = detail WHERE false`); err != nil {
		return fmt.Errorf("the database cannot be written to: %w", err)
	}
	return nil
}

// Close closes the connections. It waits for what is under way.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// Codes of Postgres' errors.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	checkViolation       = "23514"
	uniqueViolation      = "23505"
	duplicateSchema      = "42P06"
	undefinedTable       = "42P01"
	invalidSchema        = "3F000"
	lockNotAvailable     = "55P03"
)

// code is the code of an error of the server's, empty for all others.
func code(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// maxTries bounds how often a transaction is tried that others keep from being committed.
const maxTries = 20

// retry runs a transaction again as long as it failed for no reason but others that ran at the same time.
func (s *Store) retry(ctx context.Context, do func(pgx.Tx) error) error {
	for try := 1; ; try++ {
		err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, do)
		switch code(err) {
		case serializationFailure, deadlockDetected:
		default:
			return err
		}
		if try == maxTries {
			return fmt.Errorf("tried %d times: %w", try, err)
		}
		wait := time.Duration(mathrand.Int64N(int64(min(try*try, 50)) * int64(10*time.Millisecond)))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
