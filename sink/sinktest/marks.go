package sinktest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/sink"
)

func emptyBatch(t *testing.T, open Open) {
	s := open(t)
	commit(t, s, &sink.Batch{})
	check(t, s, &sink.Batch{})
}

func marksMoveOnce(t *testing.T, open Open) {
	s := open(t)
	if got := marks(t, s, source); len(got) != 0 {
		t.Fatalf("a fresh store is at %v", got)
	}
	first, second := Sample("audit/0", 0, 5), Sample("audit/0", 5, 5)
	expectMoved(t, s, second, at("audit/0", sink.Mark{}))
	commit(t, s, first)
	expectMoved(t, s, first, reached(first.Moves[0]))
	commit(t, s, second)
	expectMoved(t, s, first, reached(second.Moves[0]))
	expectMoved(t, s, second, reached(second.Moves[0]))

	otherDetail := Sample("audit/0", 10, 5)
	otherDetail.Moves[0].From.Detail = "inode 8"
	expectMoved(t, s, otherDetail, reached(second.Moves[0]))
	otherGeneration := Sample("audit/0", 10, 5)
	otherGeneration.Moves[0].From.Generation, otherGeneration.Moves[0].To.Generation = 2, 2
	expectMoved(t, s, otherGeneration, reached(second.Moves[0]))

	check(t, s, join(first, second))
	if diff := cmp.Diff([]sink.PartitionMark{reached(second.Moves[0])}, marks(t, open(t), source)); diff != "" {
		t.Errorf("Marks (- expected, + found):\n%s", diff)
	}
	if got := marks(t, s, "another"); len(got) != 0 {
		t.Errorf("another source is at %v", got)
	}
}

func oneMovedPartitionRefusesAll(t *testing.T, open Open) {
	s := open(t)
	ahead := Sample("audit/1", 0, 5)
	commit(t, s, ahead)
	b := join(Sample("audit/0", 0, 5), Sample("audit/1", 3, 5), Sample("audit/2", 0, 5))
	b.Moves = []sink.Move{move("audit/0", 0, 5), move("audit/1", 3, 8), move("audit/2", 0, 5)}
	expectMoved(t, s, b, reached(ahead.Moves[0]))
	check(t, s, ahead)
	if got := marks(t, s, source); len(got) != 1 {
		t.Errorf("the refused batch has moved partitions: %v", got)
	}
}

func moveBack(t *testing.T, open Open) {
	s := open(t)
	first := Sample("audit/0", 0, 5)
	commit(t, s, first)
	for _, to := range []sink.Mark{{Generation: first.Moves[0].To.Generation, Offset: 2}, {Generation: first.Moves[0].To.Generation - 1, Offset: 100}} {
		back := &sink.Batch{Moves: []sink.Move{{Source: source, Partition: "audit/0", From: first.Moves[0].To, To: to}}}
		if err := s.Commit(t.Context(), back); err == nil {
			t.Errorf("a move back to %v was written", to)
		}
	}
	check(t, s, first)
}

func partitionTwice(t *testing.T, open Open) {
	s := open(t)
	b := Sample("audit/0", 0, 5)
	b.Moves = append(b.Moves, move("audit/0", 5, 6))
	err := s.Commit(t.Context(), b)
	if moved := new(*sink.MovedError); err == nil || errors.As(err, moved) {
		t.Errorf("a batch that moves a partition twice: %v, want an error that says so", err)
	}
	b = Sample("audit/0", 0, 5)
	b.Deliveries = []sink.Delivery{{Source: "hook", Key: "x"}, {Source: "hook", Key: "x"}}
	err = s.Commit(t.Context(), b)
	if delivered := new(*sink.DeliveredError); err == nil || errors.As(err, delivered) {
		t.Errorf("a batch with a delivery twice: %v, want an error that says so", err)
	}
	check(t, s, &sink.Batch{})
}

// namesOfPartitionsAreBytes: what a source calls its partitions and files comes back as it was, also where it is no text.
func namesOfPartitionsAreBytes(t *testing.T, open Open) {
	s := open(t)
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'a' + byte(i%26)
	}
	for _, name := range []string{"/logs/\xff", "/logs/\xfe", "/logs/\x00", "", string(long), string(long) + "b"} {
		first, second := move(name, 0, 3), move(name, 3, 4)
		first.To.Detail, second.From.Detail = "\xff\x00", "\xff\x00"
		commit(t, s, &sink.Batch{Moves: []sink.Move{first}})
		expectMoved(t, s, &sink.Batch{Moves: []sink.Move{first}}, reached(first))
		commit(t, s, &sink.Batch{Moves: []sink.Move{second}})
		var found bool
		for _, m := range marks(t, s, source) {
			found = found || m == reached(second)
		}
		if !found {
			t.Errorf("the partition %.20q does not come back as it was", name)
		}
	}
}

func eventTimeIsTheLatest(t *testing.T, open Open) {
	s := open(t)
	for i, test := range []struct{ event, want time.Time }{
		{time.Time{}, time.Time{}},
		{noon, noon},
		{noon.Add(-time.Hour), noon},
		{time.Time{}, noon},
		{noon.Add(time.Hour).In(time.FixedZone("", 3600)), noon.Add(time.Hour)},
	} {
		m := move("audit/0", int64(i), int64(i+1))
		m.EventTime = test.event
		commit(t, s, &sink.Batch{Moves: []sink.Move{m}})
		if got := marks(t, s, source)[0].EventTime; got != test.want {
			t.Errorf("after an event at %v the latest is %v, want %v", test.event, got, test.want)
		}
	}
}

func deliveriesAreStoredOnce(t *testing.T, open Open) {
	s := open(t)
	delivery := func(key string) sink.Delivery { return sink.Delivery{Source: "hook", Partition: "prod", Key: key} }
	first := join(Sample("prod", 0, 3))
	first.Deliveries = []sink.Delivery{delivery("a"), delivery("b")}
	commit(t, s, first)
	second := join(Sample("prod", 3, 3))
	second.Deliveries = []sink.Delivery{delivery("c"), delivery("b")}
	var delivered *sink.DeliveredError
	if err := s.Commit(t.Context(), second); !errors.As(err, &delivered) {
		t.Fatalf("a delivery that is stored: %v, want a DeliveredError", err)
	}
	if diff := cmp.Diff([]sink.Delivery{delivery("b")}, delivered.Deliveries); diff != "" {
		t.Errorf("DeliveredError (- expected, + found):\n%s", diff)
	}
	check(t, s, first)
	second.Deliveries = []sink.Delivery{delivery("c"), {Source: "hook", Partition: "test", Key: "b"}, {Source: "ho", Partition: "okprod", Key: "b"}}
	commit(t, s, second)
	check(t, s, join(first, second))
}

// lostReply: the caller has an error, though the batch was written. Its second try must say so.
func lostReply(t *testing.T, open Open) {
	s := open(t)
	b := join(Sample("audit/0", 0, 5), Sample("audit/1", 0, 5))
	b.Moves = []sink.Move{move("audit/0", 0, 5), move("audit/1", 0, 5)}
	commit(t, s, b)
	expectMoved(t, s, b, reached(b.Moves[0]), reached(b.Moves[1]))
	check(t, s, b)
}

func at(partition string, m sink.Mark) sink.PartitionMark {
	return sink.PartitionMark{Source: source, Partition: partition, Mark: m}
}

func reached(m sink.Move) sink.PartitionMark {
	return sink.PartitionMark{Source: m.Source, Partition: m.Partition, Mark: m.To, EventTime: m.EventTime}
}

// expectMoved commits a batch that has to be refused. The marks may come in any order.
func expectMoved(t testing.TB, s sink.Store, b *sink.Batch, now ...sink.PartitionMark) {
	t.Helper()
	var moved *sink.MovedError
	if err := s.Commit(t.Context(), b); !errors.As(err, &moved) {
		t.Fatalf("Commit: %v, want a MovedError", err)
	}
	byName := func(list []sink.PartitionMark) map[string]sink.PartitionMark {
		out := map[string]sink.PartitionMark{}
		for _, m := range list {
			out[m.Partition] = m
		}
		return out
	}
	if diff := cmp.Diff(byName(now), byName(moved.Now)); diff != "" {
		t.Errorf("MovedError (- expected, + found):\n%s", diff)
	}
}
