package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pressly/goose/v3"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/migrate"
)

var schema = migrate.Schema{
	Store: "sqlite", Dialect: goose.DialectSQLite3, Table: "schema_migrations",
	Exists: `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations')`,
}

// Migrate brings the schema up to date, and returns the migrations that it applied. It makes the file if there is none,
// for its owner only: what policies say about a request can be confidential.
func Migrate(ctx context.Context, file string) (applied []sink.Migration, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the database: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("making the database: %w", err)
	}
	db, err := openSQL(file, "_txlock=immediate")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for {
		before, err := progress(ctx, db)
		if err != nil {
			return nil, err
		}
		applied, err := schema.Up(ctx, db)
		if err == nil {
			return applied, nil
		}
		// Two at once: each step is a transaction, so one of the two fails and finds the other's step done.
		if after, progressErr := progress(ctx, db); progressErr != nil || after == before {
			return nil, err
		}
	}
}

// progress changes with each step that is done.
func progress(ctx context.Context, db *sql.DB) (steps int, err error) {
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master`).Scan(&steps)
	if err != nil {
		return 0, fmt.Errorf("reading the schema: %w", err)
	}
	return steps, nil
}

// Status lists the migrations, applied or not. A file that is not there has none applied. A schema that is newer than
// this vapshadow is a *sink.SchemaError.
func Status(ctx context.Context, file string) (list []sink.Migration, err error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		db, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		return schema.Status(ctx, db)
	}
	db, err := openSQL(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return schema.Status(ctx, db)
}
