package kafka

import (
	"cmp"
	"slices"
)

// abortedTransaction is what a producer wrote from an offset on and then took back.
type abortedTransaction struct{ producer, first int64 }

// committed returns the batches that hold messages: not the marks at the end of transactions, and nothing of the
// transactions that were aborted.
func committed(batches []*batch, aborted []abortedTransaction) []*batch {
	slices.SortFunc(aborted, func(a, b abortedTransaction) int { return cmp.Compare(a.first, b.first) })
	open := make(map[int64]bool) // producers whose transaction will be aborted
	kept := batches[:0:0]
	for _, b := range batches {
		for len(aborted) > 0 && aborted[0].first <= b.last {
			open[aborted[0].producer] = true
			aborted = aborted[1:]
		}
		switch {
		case b.control():
			// The mark that ends an aborted transaction, as that of a committed one would not find it open.
			delete(open, b.producer)
		case b.transactional() && open[b.producer]:
		default:
			kept = append(kept, b)
		}
	}
	return kept
}
