package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	driversqlite "modernc.org/sqlite"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/sinktest"
	"github.com/vapshadow/vapshadow/sink/sqlite"
)

// maxPages is how many pages the file of TestFullDisk may have; 0 is no bound.
var maxPages atomic.Int64

const fullName = "full disk.db"

// TestFullDisk: the batch that has no room is not written at all, is not lost, and is written when there is room again.
func TestFullDisk(t *testing.T) {
	driversqlite.RegisterConnectionHook(func(conn driversqlite.ExecQuerierContext, dsn string) error {
		if !strings.Contains(dsn, "full%20disk.db") || maxPages.Load() == 0 {
			return nil
		}
		_, err := conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", maxPages.Load()), nil)
		return err
	})
	file := filepath.Join(t.TempDir(), fullName)
	if _, err := sqlite.Migrate(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	maxPages.Store(1000)
	s := open(t, file)
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
	expect := func() {
		t.Helper()
		if diff := cmp.Diff(sinktest.Expect(all), sinktest.Read(t, s, sink.Filter{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(- expected, + found):\n%.2000s", diff)
		}
	}
	if !strings.Contains(failed.Error(), "full") {
		t.Fatalf("Commit: %v, want an error that says that the disk is full", failed)
	}
	t.Logf("full after %d events: %v", at, failed)
	expect()
	for range 3 {
		if err := s.Commit(t.Context(), next()); err == nil || !strings.Contains(err.Error(), "full") {
			t.Errorf("another try on a full disk: %v", err)
		}
	}
	maxPages.Store(0)
	b := next()
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatalf("there is room again, and Commit says %v", err)
	}
	appendRows(all, b)
	expect()
}

// appendRows adds the rows of a batch to those of others.
func appendRows(all, b *sink.Batch) {
	all.Failures = append(all.Failures, b.Failures...)
	all.Annotations = append(all.Annotations, b.Annotations...)
	all.Rollups = append(all.Rollups, b.Rollups...)
	all.Ledger = append(all.Ledger, b.Ledger...)
	all.DeadLetters = append(all.DeadLetters, b.DeadLetters...)
	all.Policies = append(all.Policies, b.Policies...)
}
