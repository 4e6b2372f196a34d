package sinktest

import (
	"testing"

	"github.com/vapshadow/vapshadow/sink"
)

// BenchmarkCommit commits batches of some events, each with a failure, an annotation, and counts of its own.
func BenchmarkCommit(b *testing.B, s sink.Store, events int64) {
	at, rows := int64(0), 0
	for b.Loop() {
		b.StopTimer()
		batch := Sample("audit/0", at, events)
		at += events
		rows += len(batch.Failures) + len(batch.Annotations)
		b.StartTimer()
		if err := s.Commit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
