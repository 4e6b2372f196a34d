package sinktest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/sink"
)

// hostileText: no text from a log fails a batch.
func hostileText(t *testing.T, open Open) {
	s := open(t)
	long := strings.Repeat("überlang ", 3000)
	hostile := []struct{ in, want string }{
		{"", ""},
		{"a\x00b", "a\uFFFDb"},
		{"\x00", "\uFFFD"},
		{"a\xffb", "a\uFFFDb"},
		{"\xed\xa0\x80", "\uFFFD"}, // half of a surrogate pair
		{`{"a","b"}`, `{"a","b"}`},
		{`\`, `\`},
		{`\x41`, `\x41`},
		{`"`, `"`},
		{`'; DROP TABLE failures; --`, `'; DROP TABLE failures; --`},
		{"NULL", "NULL"},
		{"$1", "$1"},
		{" leading, trailing ", " leading, trailing "},
		{"line\nline\r\n\ttab", "line\nline\r\n\ttab"},
		{"\u202Eright to left", "\u202Eright to left"},
		{"👩‍👩‍👧", "👩‍👩‍👧"},
		{long, long},
	}
	all := &sink.Batch{}
	for i, h := range hostile {
		at := noon.Add(time.Duration(i) * time.Second)
		b := hostileBatch(h.in, at)
		b.Moves = []sink.Move{move("audit/0", int64(i), int64(i+1))}
		if err := s.Commit(t.Context(), b); err != nil {
			t.Errorf("the text %.30q fails a batch: %v", h.in, err)
			return
		}
		f := Read(t, s, sink.Filter{Since: at, Until: at.Add(time.Microsecond)}).Failures
		if len(f) != 1 {
			t.Fatalf("%.30q: %d rows, want 1", h.in, len(f))
		}
		if f[0].Message != h.want || f[0].Username != h.want {
			t.Errorf("%.30q comes back as %.30q", h.in, f[0].Message)
		}
		if diff := cmp.Diff([]string{h.want, "x", h.want}, f[0].Groups); diff != "" {
			t.Errorf("%.30q in a list (- expected, + found):\n%.300s", h.in, diff)
		}
		all = join(all, b)
	}
	check(t, s, all)
	// Names that an index has to hold, and that differ only where it no longer sees them.
	first, second := Sample("audit/1", 0, 1), Sample("audit/1", 1, 1)
	first.Rollups[0].Namespace, second.Rollups[0].Namespace = long+"a", long+"b"
	first.Rollups[0].Cluster, second.Rollups[0].Cluster = "long names", "long names"
	commit(t, s, first)
	commit(t, s, second)
	got := Read(t, s, sink.Filter{Cluster: "long names"}).Rollups
	if len(got) != 2 || !strings.HasPrefix(got[0].Namespace, "überlang überlang") {
		t.Errorf("two long names come to %d rows, want 2", len(got))
	}
}

// hostileBatch has a text in each place of each row.
func hostileBatch(s string, at time.Time) *sink.Batch {
	place := sink.Place{Cluster: s, AuditID: s, StageTimestamp: at}
	list := []string{s, "x", s}
	return &sink.Batch{
		Failures: []sink.Failure{{
			Place: place, Operation: s, Group: s, Version: s, Resource: s, SubResource: s, Kind: s, Namespace: s, Name: s,
			OwnerKind: s, OwnerName: s, Username: s, Groups: list, UserAgent: s, Policy: s, Binding: s, ParamsNamespace: s,
			ParamsName: s, PolicyHash: s, BindingHash: s, ParamHash: s, ValidationActions: list, Result: s, Message: s,
			Reason: s, Unknown: list, Because: s, Evidence: s, Effect: s, Team: s,
		}},
		Annotations: []sink.Annotation{{Place: place, Key: s, Value: s}},
		Rollups: []sink.Rollup{{
			Minute: at, Cluster: s, Policy: s, Binding: s, PolicyHash: s, BindingHash: s, Namespace: s, Group: s, Resource: s,
			SubResource: s, Operation: s, Result: s, Evidence: s, Because: s, Effect: s, Team: s, Count: 1,
		}},
		Ledger:      []sink.LedgerLine{{Source: s, Partition: s, Cluster: s, Outcome: s, Reason: s, Count: 1}},
		DeadLetters: []sink.DeadLetter{{Source: s, Partition: s, Cluster: s, Mark: sink.Mark{Detail: s}, Delivery: s, Reason: s, Detail: s, At: at}},
		Policies:    []sink.PolicyText{{Cluster: s, Kind: s, Name: s, Hash: s, Text: s}},
	}
}

// outlandishTimes: no time from a log fails a batch, and rows of all times are found again.
func outlandishTimes(t *testing.T, open Open) {
	s := open(t)
	var all []*sink.Batch
	for i, at := range []time.Time{
		{},
		time.Unix(0, 0),
		time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(-4000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2013, 12, 31, 23, 59, 59, 999999999, time.UTC),
		time.Date(2014, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2024, 2, 29, 23, 59, 59, 999999500, time.UTC),
		time.Date(2026, 3, 29, 2, 30, 0, 0, time.FixedZone("", 2*3600)),
		time.Date(2099, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		time.Date(123456, 7, 8, 0, 0, 0, 0, time.UTC),
	} {
		b := hostileBatch(fmt.Sprint("time ", i), at)
		b.Moves = []sink.Move{move("audit/0", int64(i), int64(i+1))}
		b.Moves[0].EventTime = at
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatalf("the time %v fails a batch: %v", at, err)
		}
		all = append(all, b)
	}
	check(t, s, join(all...))
}

// hugeBatch is more than one statement holds, with rows of many days.
func hugeBatch(t *testing.T, open Open) {
	s := open(t)
	b := Sample("audit/0", 0, 12_000)
	for i := range b.Failures {
		b.Failures[i].StageTimestamp = b.Failures[i].StageTimestamp.AddDate(0, 0, i%40)
	}
	commit(t, s, b)
	check(t, s, b)
}
