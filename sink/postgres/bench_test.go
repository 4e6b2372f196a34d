package postgres_test

import (
	"fmt"
	"testing"

	"github.com/vapshadow/vapshadow/sink/sinktest"
)

func BenchmarkCommit(b *testing.B) {
	for _, size := range []int64{1, 100, 10_000} {
		b.Run(fmt.Sprintf("failures=%d", size), func(b *testing.B) {
			sinktest.BenchmarkCommit(b, open(b, migrated(b)), size)
		})
	}
}
