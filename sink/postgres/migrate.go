package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/migrate"
)

// Migrate brings the schema up to date, and returns the migrations that it applied. Two at once are safe: the second
// waits for the first, five minutes at most.
//
// The role owns what it makes. It needs the right to create the schema vapshadow (CREATE on the database), or a schema
// vapshadow that is its own.
func Migrate(ctx context.Context, url string) (applied []sink.Migration, err error) {
	db, err := openSQL(url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := ensureSchema(ctx, db); err != nil {
		return nil, err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, err
	}
	return schema(goose.WithSessionLocker(locker)).Up(ctx, db)
}

// Status lists the migrations, applied or not. A schema that is newer than this vapshadow is a *sink.SchemaError.
func Status(ctx context.Context, url string) (list []sink.Migration, err error) {
	db, err := openSQL(url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return schema().Status(ctx, db)
}

// Grant gives roles that exist the rights of a writer (who runs vapshadow) and of a reader (who sees the views). The URL
// is that of the role that migrated. It is to be repeated after each migration.
func Grant(ctx context.Context, url string, writers, readers []string) (err error) {
	db, err := openSQL(url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, role := range writers {
		if _, err := db.ExecContext(ctx, `SELECT vapshadow.grant_writer($1)`, role); err != nil {
			return fmt.Errorf("granting the rights of a writer to %s: %w", role, err)
		}
	}
	for _, role := range readers {
		if _, err := db.ExecContext(ctx, `SELECT vapshadow.grant_reader($1)`, role); err != nil {
			return fmt.Errorf("granting the rights of a reader to %s: %w", role, err)
		}
	}
	return nil
}

func schema(options ...goose.ProviderOption) migrate.Schema {
	return migrate.Schema{
		Store: "postgres", Dialect: goose.DialectPostgres, Table: "vapshadow.schema_migrations", Options: options,
		Exists: `SELECT to_regclass('vapshadow.schema_migrations') IS NOT NULL`,
	}
}

func openSQL(url string) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, addressError(url, err)
	}
	cfg.RuntimeParams["timezone"] = "UTC"
	return stdlib.OpenDB(*cfg), nil
}

// ensureSchema makes the schema, if nobody has: the owner of one need not be allowed to make others.
func ensureSchema(ctx context.Context, db *sql.DB) error {
	var exists bool
	if err := db.QueryRowContext(ctx, `SELECT to_regnamespace('vapshadow') IS NOT NULL`).Scan(&exists); err != nil {
		return fmt.Errorf("connecting to the database: %w", err)
	}
	if exists {
		return nil
	}
	_, err := db.ExecContext(ctx, `CREATE SCHEMA vapshadow`)
	if c := code(err); c == duplicateSchema || c == uniqueViolation {
		return nil // Another process was faster.
	}
	if err != nil {
		return fmt.Errorf("making the schema vapshadow: %w", err)
	}
	return nil
}
