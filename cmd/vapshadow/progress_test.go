package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// screen records what was written to a terminal of so many columns, under a clock that only the test moves.
type screen struct {
	strings.Builder
	columns int
	time    time.Time
}

func (s *screen) progress() *progress {
	return newProgress(terminal{Writer: s, width: func() int { return s.columns }}, func() time.Time { return s.time })
}

func TestProgressDrawing(t *testing.T) {
	const mebi = 1 << 20
	s := &screen{columns: 80}
	p := s.progress()
	steps := []struct {
		after               time.Duration
		read, total, events int64
		want                string
	}{
		{after: 0, read: mebi, total: 40 * mebi, events: 100, want: ""},
		{after: 100 * time.Millisecond, read: 2 * mebi, total: 40 * mebi, events: 200, want: ""},
		{after: 900 * time.Millisecond, read: 4 * mebi, total: 40 * mebi, events: 12345, want: "\r 10%  4.0 MiB of 40.0 MiB  12,345 events/s  9s left\x1b[K"},
		{after: 199 * time.Millisecond, read: 5 * mebi, total: 40 * mebi, events: 13000, want: ""},
		{after: time.Millisecond, read: 0, total: 40 * mebi, events: 0, want: "\r  0%  0 B of 40.0 MiB  0 events/s\x1b[K"},
		{after: 800 * time.Millisecond, read: 41 * mebi, total: 40 * mebi, events: 2_000_000, want: "\r100%  40.0 MiB of 40.0 MiB  1,000,000 events/s  0s left\x1b[K"},
		{after: time.Second, read: 1536, total: 0, events: 3000, want: "\r1.5 KiB  3,000 events  1,000 events/s\x1b[K"},
	}
	for i, step := range steps {
		s.Reset()
		s.time = s.time.Add(step.after)
		p.update(step.read, step.total, step.events)
		if diff := cmp.Diff(step.want, s.String()); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
	s.Reset()
	p.clear()
	p.clear()
	if diff := cmp.Diff("\r\x1b[K", s.String()); diff != "" {
		t.Errorf("clearing twice: %s", diff)
	}
}

// A line as wide as the screen would wrap, and leave its first row behind at the next drawing.
func TestProgressNarrowTerminal(t *testing.T) {
	for _, columns := range []int{0, 1, 10, 20} {
		s := &screen{columns: columns}
		p := s.progress()
		s.time = s.time.Add(time.Second)
		p.update(10, 100, 1)
		drawn := strings.TrimSuffix(strings.TrimPrefix(s.String(), "\r"), "\x1b[K")
		if want := max(columns-1, 0); len(drawn) != want {
			t.Errorf("%d columns: drew %q, want %d characters", columns, drawn, want)
		}
	}
}

// What a replay prints to the same screen begins in a clean row.
func TestProgressAround(t *testing.T) {
	s := &screen{columns: 80}
	p := s.progress()
	out := p.around(s)
	s.time = s.time.Add(time.Second)
	p.update(0, 100, 1)
	s.Reset()
	for _, line := range []string{"first\n", "second\n"} {
		if _, err := out.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff("\r\x1b[Kfirst\nsecond\n", s.String()); diff != "" {
		t.Error(diff)
	}
}

func TestProgressOfShortReplay(t *testing.T) {
	s := &screen{columns: 80}
	p := s.progress()
	s.time = s.time.Add(redrawEvery - 1)
	p.update(1, 1, 1)
	p.clear()
	if s.Len() != 0 {
		t.Errorf("drew %q", s.String())
	}
}

func TestProgressWithoutTerminal(t *testing.T) {
	p := newProgress(terminal{}, time.Now)
	p.start = p.start.Add(-time.Hour)
	p.update(1, 2, 3)
	p.clear()
	out := new(strings.Builder)
	if p.around(out) != io.Writer(out) {
		t.Error("around changed the writer")
	}
}
