package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/vapshadow/vapshadow/migrations"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/sqlite"
)

func TestMigrateTwoAtOnce(t *testing.T) {
	for range 5 {
		file := filepath.Join(t.TempDir(), "a.db")
		errs := make(chan error)
		for range 3 {
			go func() {
				_, err := sqlite.Migrate(context.WithoutCancel(t.Context()), file)
				errs <- err
			}()
		}
		for range 3 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		open(t, file)
	}
}

func TestOtherSchema(t *testing.T) {
	file := migrated(t)
	latest, err := migrations.Latest("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`ATTACH ? AS other`, file); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change string
		have   int64
	}{
		{`INSERT INTO other.schema_migrations (version_id, is_applied) VALUES (99, 1)`, 99},
		{`DELETE FROM other.schema_migrations WHERE version_id > 1`, 1},
	} {
		if _, err := db.Exec(test.change); err != nil {
			t.Fatal(err)
		}
		var schema *sink.SchemaError
		if _, err := sqlite.Open(t.Context(), file); !errors.As(err, &schema) || *schema != (sink.SchemaError{Have: test.have, Want: latest}) {
			t.Errorf("Open: %v, want a SchemaError of versions %d and %d", err, test.have, latest)
		}
		if _, err := sqlite.Migrate(t.Context(), file); test.have > latest && !errors.As(err, &schema) {
			t.Errorf("Migrate of a newer schema: %v", err)
		}
	}
}

func TestFileIsItsOwners(t *testing.T) {
	file := migrated(t)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
}

func TestOpenMakesNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	if _, err := sqlite.Open(t.Context(), file); err == nil {
		t.Error("a file that is not there opens")
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open made a file: %v", err)
	}
	list, err := sqlite.Status(t.Context(), file)
	if err != nil || len(list) == 0 || list[0].Applied {
		t.Errorf("Status of a file that is not there: %v, %v", list, err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Status made a file: %v", err)
	}
}
