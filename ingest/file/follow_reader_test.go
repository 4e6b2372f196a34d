package file_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/file"
)

// quick makes a Follower fast enough for tests: a file is quiet at once.
var quick = file.FollowOptions{Poll: time.Millisecond, Idle: time.Millisecond, Quiet: time.Nanosecond}

// logReader follows a log and keeps what it gets up to the mark that it stored last. Stopped and started, it goes on
// from there.
type logReader struct {
	t      testing.TB
	f      *file.Follower
	path   string
	stream ingest.Stream
	got    []string // lines, and the reasons of skips
	ends   []ingest.Mark
	stored int // that many of got are stored
	last   ingest.Chunk
}

func newLogReader(t testing.TB, path string, opts file.FollowOptions) *logReader {
	t.Helper()
	f, err := file.NewFollower([]file.Followed{{Path: path, Cluster: "prod"}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	r := &logReader{t: t, f: f, path: path}
	t.Cleanup(r.stop)
	return r
}

func (r *logReader) start() {
	r.t.Helper()
	if r.stream != nil {
		return
	}
	var from ingest.Mark
	if r.stored > 0 {
		from = r.ends[r.stored-1]
	}
	var err error
	if r.stream, err = r.f.Open(context.Background(), r.path, from); err != nil {
		r.t.Fatal(err)
	}
}

func (r *logReader) stop() {
	if r.stream != nil {
		_ = r.stream.Close()
		r.stream = nil
	}
}

// restart stops as a process that is killed does: what is not stored is forgotten.
func (r *logReader) restart() {
	r.stop()
	r.got, r.ends = r.got[:r.stored], r.ends[:r.stored]
}

// store keeps n of what is not stored yet.
func (r *logReader) store(n int) { r.stored = min(len(r.got), r.stored+n) }

// next takes one chunk.
func (r *logReader) next() {
	r.t.Helper()
	r.start()
	c, err := r.stream.Next(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	r.add(c)
}

func (r *logReader) add(c ingest.Chunk) {
	r.t.Helper()
	if len(c.Entries) != len(c.Ends) || c.Cluster != "prod" {
		r.t.Fatalf("%d entries with %d ends of cluster %q", len(c.Entries), len(c.Ends), c.Cluster)
	}
	for i, e := range c.Entries {
		text := string(e.Data)
		if e.Skip != nil {
			text = string(e.Skip.Reason)
		}
		var before ingest.Mark
		if len(r.ends) > 0 {
			before = r.ends[len(r.ends)-1]
		}
		if c.Ends[i].Compare(before) <= 0 {
			r.t.Fatalf("mark %+v of %q is not behind %+v", c.Ends[i], text, before)
		}
		r.got, r.ends = append(r.got, text), append(r.ends, c.Ends[i])
	}
	r.last = c
}

// drain reads until there is nothing more, and returns all since the beginning.
func (r *logReader) drain() []string {
	r.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		r.next()
		if r.last.CaughtUp && len(r.last.Entries) == 0 {
			return slices.Clone(r.got)
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("not caught up after %d entries: %+v", len(r.got), r.last)
		}
	}
}
