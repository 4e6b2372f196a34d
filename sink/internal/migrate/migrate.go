// Package migrate brings the schema of a database up to date.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/vapshadow/vapshadow/migrations"
	"github.com/vapshadow/vapshadow/sink"
)

// Schema is the schema of one kind of store.
type Schema struct {
	// Store names the folder of the migrations: "postgres" or "sqlite".
	Store   string
	Dialect goose.Dialect
	// Table is where the database keeps which migrations were applied; Exists is the query for whether it is there.
	Table, Exists string
	// Options are further options of the provider: a lock.
	Options []goose.ProviderOption
}

// Up applies what is not applied yet, and returns that.
func (s Schema) Up(ctx context.Context, db *sql.DB) ([]sink.Migration, error) {
	before, err := s.applied(ctx, db)
	if err != nil {
		return nil, err
	}
	want, err := migrations.Latest(s.Store)
	if err != nil {
		return nil, err
	}
	for have := range before {
		if have > want {
			return nil, &sink.SchemaError{Have: have, Want: want}
		}
	}
	provider, err := s.provider(db)
	if err != nil {
		return nil, err
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrating the database: %w", err)
	}
	applied := make([]sink.Migration, len(results))
	for i, r := range results {
		applied[i] = sink.Migration{Version: r.Source.Version, Name: path.Base(r.Source.Path), Applied: true, At: time.Now().UTC()}
	}
	return applied, nil
}

// Status lists all migrations. It changes nothing.
func (s Schema) Status(ctx context.Context, db *sql.DB) ([]sink.Migration, error) {
	provider, err := s.provider(db)
	if err != nil {
		return nil, err
	}
	applied, err := s.applied(ctx, db)
	if err != nil {
		return nil, err
	}
	var out []sink.Migration
	for _, source := range provider.ListSources() {
		at, ok := applied[source.Version]
		out = append(out, sink.Migration{Version: source.Version, Name: path.Base(source.Path), Applied: ok, At: at})
		delete(applied, source.Version)
	}
	for have := range applied {
		return out, &sink.SchemaError{Have: have, Want: out[len(out)-1].Version}
	}
	return out, nil
}

// applied returns when each version of the schema was applied.
func (s Schema) applied(ctx context.Context, db *sql.DB) (_ map[int64]time.Time, err error) {
	var exists bool
	if err := db.QueryRowContext(ctx, s.Exists).Scan(&exists); err != nil {
		return nil, fmt.Errorf("reading the version of the schema: %w", err)
	}
	if !exists {
		return nil, nil
	}
	rows, err := db.QueryContext(ctx, "SELECT version_id, tstamp FROM "+s.Table+" WHERE is_applied AND version_id > 0")
	if err != nil {
		return nil, fmt.Errorf("reading the version of the schema: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	applied := map[int64]time.Time{}
	for rows.Next() {
		var version int64
		var at time.Time
		if err := rows.Scan(&version, &at); err != nil {
			return nil, fmt.Errorf("reading the version of the schema: %w", err)
		}
		applied[version] = at.UTC()
	}
	return applied, rows.Err()
}

func (s Schema) provider(db *sql.DB) (*goose.Provider, error) {
	files, err := migrations.Of(s.Store)
	if err != nil {
		return nil, err
	}
	options := append([]goose.ProviderOption{
		goose.WithDisableGlobalRegistry(true), goose.WithTableName(s.Table), goose.WithLogger(goose.NopLogger()),
	}, s.Options...)
	return goose.NewProvider(s.Dialect, db, files, options...)
}

// Check compares the version of a database's schema with the newest that is known.
func Check(store string, have int64) error {
	want, err := migrations.Latest(store)
	if err != nil {
		return err
	}
	if have != want {
		return &sink.SchemaError{Have: have, Want: want}
	}
	return nil
}
