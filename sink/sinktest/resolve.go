package sinktest

import (
	"errors"
	"testing"

	"github.com/vapshadow/vapshadow/sink"
)

func deadLettersAreResolvedOnce(t *testing.T, open Open) {
	s := open(t)
	first := Sample("audit/0", 0, 3)
	first.DeadLetters = []sink.DeadLetter{
		{Source: source, Partition: "audit/0", Mark: sink.Mark{Offset: 1}, Reason: "InvalidJSON", Detail: "cut \x00 off"},
		{Source: source, Partition: "audit/0", Mark: sink.Mark{Offset: 2}, Reason: "InvalidJSON"},
	}
	first.Ledger = []sink.LedgerLine{{Source: source, Partition: "audit/0", Outcome: sink.DeadLettered, Reason: "InvalidJSON", Count: 2}}
	commit(t, s, first)
	letters := Read(t, s, sink.Filter{}).DeadLetters
	if len(letters) != 2 {
		t.Fatalf("%d dead letters, want 2", len(letters))
	}
	resolution := &sink.Batch{
		Resolved: letters[:1],
		Ledger:   []sink.LedgerLine{{Source: source, Partition: "audit/0", Outcome: sink.DeadLettered, Reason: "InvalidJSON", Count: -1}},
	}
	commit(t, s, resolution)
	if err := s.Commit(t.Context(), resolution); !errors.Is(err, sink.ErrResolved) {
		t.Errorf("resolving again: %v, want ErrResolved", err)
	}
	got := Read(t, s, sink.Filter{})
	if len(got.DeadLetters) != 1 || got.DeadLetters[0].Mark.Offset != 2 {
		t.Errorf("left are %v, want that of offset 2", got.DeadLetters)
	}
	for _, line := range got.Ledger {
		if line.Outcome == sink.DeadLettered && line.Count != 1 {
			t.Errorf("the ledger has %d dead letters, want 1", line.Count)
		}
	}
}
