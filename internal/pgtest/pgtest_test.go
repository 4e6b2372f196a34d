package pgtest_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/internal/pgtest"
)

func TestDatabasesAreApart(t *testing.T) {
	first, second := connect(t, pgtest.New(t)), connect(t, pgtest.New(t))
	exec1(t, first, "CREATE TABLE only_here (x int)")
	var found bool
	if err := second.QueryRow(t.Context(), "SELECT to_regclass('only_here') IS NOT NULL").Scan(&found); err != nil {
		t.Fatal(err)
	}
	if found {
		t.Error("two tests share a database")
	}
	var encoding, collation, fsync string
	err := first.QueryRow(t.Context(), `SELECT current_setting('server_encoding'), datcollate, current_setting('fsync')
		FROM pg_database WHERE datname = current_database()`).Scan(&encoding, &collation, &fsync)
	if err != nil || encoding != "UTF8" || collation != "C" || fsync != "on" {
		t.Errorf("the server has encoding %s, collation %s, fsync %s (%v)", encoding, collation, fsync, err)
	}
}

func TestDataOutlivesTheServer(t *testing.T) {
	server := pgtest.Start(t, pgtest.Config{})
	url := server.Database(t)
	exec1(t, connect(t, url), "CREATE TABLE kept (x int)")
	for _, end := range []func() error{
		func() error { return server.Restart(pgtest.Fast) },
		func() error { return server.Restart(pgtest.Immediate) },
		func() error { return errors.Join(server.Kill(), server.Start()) },
	} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		exec1(t, connect(t, url), "INSERT INTO kept VALUES (1)")
	}
	if err := server.Stop(pgtest.Fast); err != nil {
		t.Fatal(err)
	}
	if _, err := pgx.Connect(t.Context(), url); err == nil {
		t.Error("a stopped server takes connections")
	}
}

// TestServerEndsWithTheTests kills a test binary that has a server, and waits for the server and its folder to go.
func TestServerEndsWithTheTests(t *testing.T) {
	if folder := os.Getenv("PGTEST_CHILD"); folder != "" {
		pgtest.New(t)
		if err := os.WriteFile(filepath.Join(folder, "ready"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		select {} // until killed
	}
	// A folder of its own for temporary files shows what is left. Postgres' user has to come through.
	folder, err := os.MkdirTemp("", "pgtest-child-") //nolint:usetesting // Postgres' user does not get into t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) }) //nolint:errcheck // it is empty by now, else the test has failed
	if err := os.Chmod(folder, 0o711); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestServerEndsWithTheTests$")
	child.Env = append(os.Environ(), "PGTEST_CHILD="+folder, "TMPDIR="+folder)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the child's server", func() bool { _, err := os.Stat(filepath.Join(folder, "ready")); return err == nil })
	pidFiles, _ := filepath.Glob(filepath.Join(folder, "pgtest-*", "data", "postmaster.pid"))
	if len(pidFiles) != 1 {
		t.Fatalf("the child has %d servers, want 1", len(pidFiles))
	}
	text, err := os.ReadFile(pidFiles[0])
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the child ended by itself")
	}
	waitFor(t, "the end of the server", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	waitFor(t, "the end of its folder", func() bool {
		left, _ := filepath.Glob(filepath.Join(folder, "pgtest-*"))
		return len(left) == 0
	})
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

func exec1(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
