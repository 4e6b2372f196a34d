// Package connect opens the store that a URL names.
package connect

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/postgres"
	"github.com/vapshadow/vapshadow/sink/sqlite"
)

// Forms lists what a URL may look like, for usage texts.
const Forms = "postgres://user:password@host:port/database, sqlite:FILE"

// Open opens the store of a URL. A schema that is not up to date is a *sink.SchemaError. No error shows a password.
func Open(ctx context.Context, address string) (sink.Database, error) {
	kind, file, err := parse(address)
	switch {
	case err != nil:
		return nil, err
	case kind == kindSQLite:
		return opened(sqlite.Open(ctx, file))
	default:
		return opened(postgres.Open(ctx, address))
	}
}

// opened keeps a nil *Store from becoming a Database that is not nil.
func opened[S sink.Database](s S, err error) (sink.Database, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Embedded says whether a URL is of a store that only this machine uses, so that its owner may bring it up to date by
// the way.
func Embedded(address string) bool {
	kind, _, err := parse(address)
	return err == nil && kind == kindSQLite
}

// Migrate brings the schema of a database up to date, and returns the migrations that it applied. Two at once are safe.
func Migrate(ctx context.Context, address string) ([]sink.Migration, error) {
	kind, file, err := parse(address)
	switch {
	case err != nil:
		return nil, err
	case kind == kindSQLite:
		return sqlite.Migrate(ctx, file)
	default:
		return postgres.Migrate(ctx, address)
	}
}

// Status lists the migrations of a database, applied or not. It changes nothing.
func Status(ctx context.Context, address string) ([]sink.Migration, error) {
	kind, file, err := parse(address)
	switch {
	case err != nil:
		return nil, err
	case kind == kindSQLite:
		return sqlite.Status(ctx, file)
	default:
		return postgres.Status(ctx, address)
	}
}

// Grant gives roles of a Postgres the rights of a writer, who runs vapshadow, and of a reader, who sees the views. It is
// to be repeated after each migration. A file has no roles, so SQLite refuses.
func Grant(ctx context.Context, address string, writers, readers []string) error {
	kind, _, err := parse(address)
	switch {
	case err != nil:
		return err
	case kind == kindSQLite:
		return fmt.Errorf("a SQLite database has no roles to grant rights to: the rights on the file count")
	default:
		return postgres.Grant(ctx, address, writers, readers)
	}
}

// Unreachable says whether an error of Open is that of a server that is worth waiting for.
func Unreachable(err error) bool { return postgres.Unreachable(err) }

// Redact is a URL to be shown: without passwords.
func Redact(address string) string {
	kind, _, err := parse(address)
	if err != nil {
		return "(an address of another form)"
	}
	if kind == kindSQLite {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "postgres://(an address that cannot be read)"
	}
	query := u.Query()
	for _, name := range []string{"password", "sslpassword"} {
		if query.Has(name) {
			query.Set(name, "xxxxx")
		}
	}
	u.RawQuery = query.Encode()
	return u.Redacted()
}

const (
	kindSQLite   = "sqlite"
	kindPostgres = "postgres"
)

func parse(address string) (kind, file string, err error) {
	scheme, rest, found := strings.Cut(address, ":")
	switch {
	case found && (scheme == "postgres" || scheme == "postgresql") && strings.HasPrefix(rest, "//"):
		return kindPostgres, "", nil
	case found && scheme == kindSQLite:
		file = strings.TrimPrefix(rest, "//")
		if file == "" {
			return "", "", fmt.Errorf("the address of the database names no file: write sqlite:FILE")
		}
		return kindSQLite, file, nil
	default:
		// The address is not shown: it may hold a password.
		return "", "", fmt.Errorf("the address of the database has none of the forms %s", Forms)
	}
}
