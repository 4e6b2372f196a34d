package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
)

// tables are all rows of a store, without what says where an event came from.
type tables struct {
	Failures, Annotations, Rollups []string
	// Ledger counts by outcome and reason.
	Ledger map[string]int64
}

// read reads a store, and checks its law.
func read(t testing.TB, url string) tables {
	t.Helper()
	ctx := t.Context()
	db, err := connect.Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	out := tables{
		Failures:    lines(t, db.Failures(ctx, sink.Filter{})),
		Annotations: lines(t, db.Annotations(ctx, sink.Filter{})),
		Rollups:     lines(t, db.Rollups(ctx, sink.Filter{})),
		Ledger:      map[string]int64{},
	}
	for line, err := range db.Ledger(ctx, sink.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		out.Ledger[line.Outcome+" "+line.Reason] += line.Count
	}
	balances, err := sink.Balances(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range balances {
		if b.Difference() != 0 {
			t.Errorf("%s %s: the law does not hold: %+v", b.Source, b.Partition, b)
		}
	}
	return out
}

// lines are rows as JSON, sorted. A row that is there twice stays there twice.
func lines[T any](t testing.TB, rows iter.Seq2[T, error]) []string {
	t.Helper()
	var out []string
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line))
	}
	slices.Sort(out)
	return out
}

// baseline stores a replay of the recording, and reads it.
func baseline(t testing.TB) tables {
	t.Helper()
	url := "sqlite:" + filepath.Join(t.TempDir(), "baseline.db")
	vapshadow(t, "migrate", "up", "--store", url)
	vapshadow(t, "replay", "--quiet", "--cluster-name", clusterName, "--policies", recordedPolicies, "--cluster", recordedCluster,
		"--audit-log", recordedLog, "--store", url)
	out := read(t, url)
	if len(out.Failures) < 100 || len(out.Rollups) < 100 || len(out.Annotations) < 100 {
		t.Fatalf("the recording comes to little: %d failures, %d rollups, %d annotations", len(out.Failures), len(out.Rollups), len(out.Annotations))
	}
	return out
}

// ingested is how much is stored of what was delivered.
func ingested(ctx context.Context, db sink.Database) (int64, error) {
	balances, err := sink.Balances(ctx, db)
	n := int64(0)
	for _, b := range balances {
		n += b.Ingested
	}
	return n, err
}

// same fails the test where two stores do not hold the same rows.
func same(t testing.TB, want, got tables) {
	t.Helper()
	for _, table := range []struct {
		name      string
		want, got []string
	}{
		{"failures", want.Failures, got.Failures}, {"annotations", want.Annotations, got.Annotations}, {"rollups", want.Rollups, got.Rollups},
	} {
		missing, extra := difference(table.want, table.got)
		if len(missing)+len(extra) > 0 {
			t.Errorf("%s: %d rows want, %d got; missing %d:\n%s\nextra %d:\n%s", table.name, len(table.want), len(table.got),
				len(missing), head(missing), len(extra), head(extra))
		}
	}
	if diff := gocmp.Diff(want.Ledger, got.Ledger); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

// difference compares sorted lines.
func difference(want, got []string) (missing, extra []string) {
	for len(want) > 0 || len(got) > 0 {
		switch c := compareHeads(want, got); {
		case c == 0:
			want, got = want[1:], got[1:]
		case c < 0:
			missing, want = append(missing, want[0]), want[1:]
		default:
			extra, got = append(extra, got[0]), got[1:]
		}
	}
	return missing, extra
}

func compareHeads(a, b []string) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	default:
		return cmp.Compare(a[0], b[0])
	}
}

func head(lines []string) string {
	if len(lines) > 4 {
		return strings.Join(lines[:4], "\n") + fmt.Sprintf("\n… %d more", len(lines)-4)
	}
	return strings.Join(lines, "\n")
}
