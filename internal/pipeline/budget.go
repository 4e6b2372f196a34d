package pipeline

import (
	"context"
	"sync"
)

// budget bounds the bytes of input that are under way, from reading to the store. A partition may always have one
// portion waiting for its turn, whatever the others hold: else the slowest, for which all others wait, could be the
// one that is kept from reading.
type budget struct {
	limit int64

	mu    sync.Mutex
	used  int64
	freed chan struct{} // closed and made anew when bytes are given back
}

func newBudget(limit int64) *budget { return &budget{limit: limit, freed: make(chan struct{})} }

// take waits until there is room for n bytes of a partition.
func (b *budget) take(ctx context.Context, p *part, n int64) error {
	for {
		b.mu.Lock()
		if b.used+n <= b.limit || p.unmerged() == 0 {
			b.used += n
			b.mu.Unlock()
			return nil
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-p.room: // its portion was taken: it may have another
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	close(b.freed)
	b.freed = make(chan struct{})
}

// tight says whether so much is under way that nothing should wait for long.
func (b *budget) tight() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used > b.limit*3/4
}

// over says whether more is under way than there should be.
func (b *budget) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used > b.limit
}

func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
