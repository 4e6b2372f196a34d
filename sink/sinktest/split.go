package sinktest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/sink"
)

// anySplitGivesTheSameTables: however rows are split into batches, and whoever commits these at the same time, the
// tables are the same. One database serves all examples: each has clusters of its own.
func anySplitGivesTheSameTables(t *testing.T, open Open) {
	stores := []sink.Database{open(t), open(t)}
	example := 0
	rapid.Check(t, func(rt *rapid.T) {
		example++
		cluster := fmt.Sprint("cluster-", example)
		batches := make([]*sink.Batch, rapid.IntRange(1, 6).Draw(rt, "batches"))
		for i := range batches {
			batches[i] = &sink.Batch{Moves: []sink.Move{move(fmt.Sprint(cluster, "/", i), 0, 1)}}
		}
		for range rapid.IntRange(0, 60).Draw(rt, "rows") {
			drawRow(rt, batches[rapid.IntRange(0, len(batches)-1).Draw(rt, "batch")], cluster)
		}
		var wg sync.WaitGroup
		errs := make([]error, len(batches))
		for i, b := range batches {
			wg.Go(func() { errs[i] = stores[i%2].Commit(context.WithoutCancel(t.Context()), b) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				rt.Fatal(err)
			}
		}
		got := Read(t, stores[0], sink.Filter{Cluster: cluster})
		if diff := cmp.Diff(Expect(join(batches...)), got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("the tables differ (- expected, + found):\n%s", diff)
		}
	})
}

// drawRow adds a row that may well be there already, in this batch or in another. What a key tells about the rest of the
// row is the same in all: which of two rows of a key is kept is the one thing that a split decides.
func drawRow(rt *rapid.T, b *sink.Batch, cluster string) {
	few := func(label string) string {
		return rapid.SampledFrom([]string{"", "a", "b", "\x00", "é", `"`}).Draw(rt, label)
	}
	n := rapid.Int64Range(0, 3).Draw(rt, "n")
	place := sink.Place{
		Cluster: cluster, AuditID: few("audit ID"), Item: int32(n % 2), StageTimestamp: noon.AddDate(0, 0, int(n%3)).Add(time.Duration(n)),
	}
	switch rapid.IntRange(0, 5).Draw(rt, "kind of row") {
	case 0:
		f := failure(place)
		f.Policy, f.ExpressionIndex = few("policy"), int32(n)-1
		b.Failures = append(b.Failures, f)
	case 1:
		b.Annotations = append(b.Annotations, sink.Annotation{Place: place, Key: few("key"), Value: "v"})
	case 2:
		r := rollup(place, rapid.SampledFrom([]string{"Pass", "Fail", "Unknown"}).Draw(rt, "result"))
		r.Namespace, r.Count = few("namespace"), rapid.Int64Range(0, 1_000_000).Draw(rt, "count")
		b.Rollups = append(b.Rollups, r)
	case 3:
		b.Ledger = append(b.Ledger, sink.LedgerLine{
			Source: source, Partition: few("partition"), Cluster: cluster, Outcome: sink.Skipped, Reason: few("reason"), Count: n,
		})
	case 4:
		b.DeadLetters = append(b.DeadLetters, sink.DeadLetter{
			Source: source, Partition: few("partition"), Cluster: cluster, Mark: sink.Mark{Offset: n}, Reason: "CutLine", At: noon,
		})
	case 5:
		b.Policies = append(b.Policies, sink.PolicyText{Cluster: cluster, Kind: few("kind"), Name: few("name"), Hash: "h", Text: "{}"})
	}
}
