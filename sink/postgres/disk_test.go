package postgres_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/vapshadow/vapshadow/internal/pgtest"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/postgres"
	"github.com/vapshadow/vapshadow/sink/sinktest"
)

// TestFullDisk fills the disk that the tables are on: the batch that has no room is not written at all, is not lost, and
// is written when there is room again.
func TestFullDisk(t *testing.T) {
	full := newFullDisk(t)
	s := open(t, full.url)
	all := &sink.Batch{}
	const size = 500
	at := int64(0)
	next := func() *sink.Batch {
		b := sinktest.Sample("audit/0", at, size)
		for i := range b.Failures {
			b.Failures[i].Message = strings.Repeat(fmt.Sprintf("%x", i), 300)
		}
		return b
	}
	var failed error
	for failed == nil {
		b := next()
		if failed = s.Commit(t.Context(), b); failed == nil {
			appendRows(all, b)
			at += size
		}
		if at > 500_000 {
			t.Fatal("the disk does not get full")
		}
	}
	if !strings.Contains(failed.Error(), full.says) {
		t.Fatalf("Commit: %v, want an error that says %q", failed, full.says)
	}
	t.Logf("full after %d events: %v", at, failed)
	expect(t, s, all)
	if err := s.Commit(t.Context(), next()); err == nil || !strings.Contains(err.Error(), full.says) {
		t.Errorf("a second try on a full disk: %v", err)
	}
	full.makeRoom()
	b := next()
	if _, err := persist(t.Context(), s, b); err != nil {
		t.Fatalf("there is room again, and Commit says %v", err)
	}
	appendRows(all, b)
	expect(t, s, all)
}

type fullDisk struct {
	url      string
	says     string
	makeRoom func()
}

// newFullDisk makes a database on a small disk: a file system of its own where we may mount one; else files that the
// system does not let grow.
func newFullDisk(t *testing.T) fullDisk {
	if os.Getuid() != 0 {
		return newBoundedFiles(t)
	}
	server := pgtest.Start(t, pgtest.Config{})
	folder, err := os.MkdirTemp("", "small-disk-") //nolint:usetesting // Postgres' user does not get into t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=24m"); err != nil {
		t.Fatalf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		// The server goes first, with what it holds open.
		if err := server.Stop(pgtest.Immediate); err != nil {
			t.Error(err)
		}
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
		if err := os.Remove(folder); err != nil {
			t.Error(err)
		}
	})
	if err := server.Own(folder); err != nil {
		t.Fatal(err)
	}
	mustExec(t, server, fmt.Sprintf(`CREATE TABLESPACE small LOCATION '%s'`, folder))
	mustExec(t, server, `CREATE DATABASE small TABLESPACE small`)
	// What the test reads back is sorted in memory, not on the disk that is full.
	mustExec(t, server, `ALTER DATABASE small SET work_mem = '256MB'`)
	url := server.URL("small")
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return fullDisk{url: url, says: "No space left on device", makeRoom: func() {
		if err := syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_REMOUNT, "size=200m"); err != nil {
			t.Fatal(err)
		}
	}}
}

func newBoundedFiles(t *testing.T) fullDisk {
	const bound = 17 << 20 // a file of the server's own log has 16 MiB
	server := pgtest.Start(t, pgtest.Config{FileSize: bound})
	url := server.Database(t)
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return fullDisk{url: url, says: "File too large", makeRoom: func() {
		server.FileSize = 0
		if err := server.Restart(pgtest.Fast); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool { return server.Exec(context.Background(), "postgres", "SELECT 1") == nil })
	}}
}

func mustExec(t *testing.T, server *pgtest.Server, sql string) {
	t.Helper()
	if err := server.Exec(t.Context(), "postgres", sql); err != nil {
		t.Fatal(err)
	}
}
