package file_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/file"
)

// TestFollowRotations follows a log over a rotation of each kind: while it is followed, and with the follower away.
func TestFollowRotations(t *testing.T) {
	for name, rotate := range map[string]func(*logWriter){
		"apiserver":                func(w *logWriter) { w.rename("time"); w.close(); w.open() },
		"apiserver, compressed":    func(w *logWriter) { w.rename("time"); w.close(); w.open(); w.compress(0, ".gz") },
		"logrotate":                func(w *logWriter) { w.rename("number"); w.close(); w.open() },
		"logrotate, compressed":    func(w *logWriter) { w.rename("number"); w.close(); w.open(); w.compress(0, ".gz") },
		"logrotate, zstd":          func(w *logWriter) { w.rename("number"); w.close(); w.open(); w.compress(0, ".zst") },
		"logrotate with dates":     func(w *logWriter) { w.rename("date"); w.close(); w.open() },
		"copytruncate":             func(w *logWriter) { w.copyTruncate(false) },
		"copytruncate, compressed": func(w *logWriter) { w.copyTruncate(true) },
		"deleted, and made anew":   func(w *logWriter) { w.remove() },
		"emptied":                  func(w *logWriter) { w.truncate() },
		"twice": func(w *logWriter) {
			w.rename("time")
			w.close()
			w.write(w.line(2000) + "\n")
			w.rename("time")
			w.close()
		},
		"twice, the last by a copy":   func(w *logWriter) { w.rename("number"); w.close(); w.write(w.line(0) + "\n"); w.copyTruncate(false) },
		"the writer still writes":     func(w *logWriter) { w.rename("time"); w.write(w.line(0) + "\n"); w.close() },
		"the new file comes later on": func(w *logWriter) { w.rename("number"); w.close() },
	} {
		for _, away := range []bool{false, true} {
			for _, size := range []int{0, 5000} {
				w := newLogWriter(t)
				r := newLogReader(t, w.live, quick)
				w.write(w.line(size) + "\n" + w.line(size) + "\n")
				r.drain()
				r.store(1)
				if away {
					r.restart()
				}
				w.write(w.line(size) + "\n")
				rotate(w)
				w.write(w.line(size) + "\n")
				got := r.drain()
				w.close()
				t.Run(name, func(t *testing.T) { checkFollowed(t, w, got) })
				// With the file held open, a deletion takes nothing away.
				if losesNothing := !away && name != "emptied"; losesNothing && slices.Contains(got, string(ingest.FileGone)) {
					t.Errorf("%s: %q", name, got)
				}
			}
		}
	}
}

// TestFollowMarks shows what marks are made of.
func TestFollowMarks(t *testing.T) {
	w := newLogWriter(t)
	defer w.close()
	r := newLogReader(t, w.live, quick)
	a, b, c := w.line(0), w.line(0), w.line(0)
	w.write(a + "\r\n\n" + b + "\n")
	r.drain()
	w.rename("time")
	w.close()
	w.write(c[:10])
	r.drain()
	w.write(c[10:] + "\n")
	r.drain()
	type place struct{ generation, offset int64 }
	var got []place
	for _, m := range r.ends {
		got = append(got, place{m.Generation, m.Offset})
		if !strings.HasPrefix(m.Detail, "1;") || strings.Contains(m.Detail, "auditID") {
			t.Errorf("detail %q", m.Detail)
		}
	}
	n := int64(len(a))
	want := []place{{0, n + 2}, {0, n + 3 + int64(len(b)) + 1}, {1, int64(len(c)) + 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}

func TestFollowPositionAndBehind(t *testing.T) {
	w := newLogWriter(t)
	defer w.close()
	opts := quick
	opts.ChunkEntries = 1
	r := newLogReader(t, w.live, opts)
	a, b := w.line(0)+"\n", w.line(0)+"\n"
	w.write(a + b + "{")
	r.next()
	if r.last.Behind != int64(len(b))+1 || r.last.CaughtUp {
		t.Errorf("behind %d, caught up %t", r.last.Behind, r.last.CaughtUp)
	}
	r.next()
	if want := (ingest.Position{Source: w.live, Offset: int64(len(a))}); r.last.Entries[0].At != want {
		t.Errorf("at %v, want %v", r.last.Entries[0].At, want)
	}
	if r.last.Behind != 1 || !r.last.CaughtUp {
		t.Errorf("behind %d, caught up %t", r.last.Behind, r.last.CaughtUp)
	}
	// Behind a rotated file come the others.
	w.rename("time")
	w.close()
	w.write(a)
	r.next()
	if want := int64(len(a)) + 1; r.last.Behind != want && len(r.last.Entries) == 0 {
		t.Errorf("behind %d, want %d", r.last.Behind, want)
	}
}

func TestFollowTooLongLines(t *testing.T) {
	w := newLogWriter(t)
	defer w.close()
	opts := quick
	opts.MaxEntryBytes = 1000
	opts.ChunkBytes = 300
	r := newLogReader(t, w.live, opts)
	a, b := w.line(0), w.line(0)
	exact := a + strings.Repeat(" ", 1000-len(a))
	w.write(exact + "\n" + exact + " \n" + strings.Repeat("x", 5000))
	r.drain()
	r.store(2)
	r.restart()
	r.drain()
	w.write(strings.Repeat("y", 5000) + "\n" + b + "\n")
	want := []string{exact[:len(a)], "TooLarge", "TooLarge", b}
	if diff := cmp.Diff(want, r.drain()); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	// The rest of a file may be too long as well.
	w.write(strings.Repeat("z", 5000))
	r.drain()
	w.rename("time")
	w.close()
	w.write(a + "2\n")
	want = append(want, "TooLarge", a+"2")
	if diff := cmp.Diff(want, r.drain()); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// TestFollowZeroes: a writer that does not append goes on at its old offset when its file is truncated.
func TestFollowZeroes(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, "audit.log")
	opts := quick
	opts.MaxEntryBytes = 5000 // less than there are zeros
	r := newLogReader(t, live, opts)
	f, err := os.Create(live) // not to append
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := newLogWriter(t)
	var want []string
	put := func() {
		line := w.line(3000)
		want = append(want, line)
		if _, err := f.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		put()
		put()
		if i%2 == 0 {
			r.drain()
			r.store(1)
			r.restart()
		}
		data, err := os.ReadFile(live)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(live+"."+string(rune('9'-i)), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(live, 0); err != nil {
			t.Fatal(err)
		}
	}
	put()
	if diff := cmp.Diff(want, r.drain()); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// TestFollowLateWriter: a writer may go on with a renamed file for a while, though another has begun the new one.
func TestFollowLateWriter(t *testing.T) {
	w := newLogWriter(t)
	defer w.close()
	opts := quick
	opts.Quiet = time.Second
	r := newLogReader(t, w.live, opts)
	a, late, b := w.line(0), w.line(0), w.line(0)
	w.write(a + "\n")
	r.drain()
	w.rename("time")
	old := w.file
	defer old.Close()
	w.file = nil
	w.write(b + "\n")
	for range 5 {
		r.next()
	}
	if _, err := old.WriteString(late + "\n"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{a, late, b}, r.drain()); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// TestFollowBeginningsAlike: all events begin alike, so the first bytes of a file say nothing of what it holds.
func TestFollowBeginningsAlike(t *testing.T) {
	w := newLogWriter(t)
	defer w.close()
	r := newLogReader(t, w.live, quick)
	a, b := w.line(0), w.line(0)
	w.write(a + "\n")
	w.rename("time")
	w.close()
	w.write(b[:8])
	if diff := cmp.Diff([]string{a}, r.drain()); diff != "" {
		t.Errorf("with half a line in the new file (-want +got):\n%s", diff)
	}
	w.write(b[8:] + "\n")
	if diff := cmp.Diff([]string{a, b}, r.drain()); diff != "" {
		t.Errorf("with the line whole (-want +got):\n%s", diff)
	}
}

// TestFollowEmptied: what was read of an emptied file is delivered, a last line without its end as well.
func TestFollowEmptied(t *testing.T) {
	w := newLogWriter(t)
	defer w.close()
	r := newLogReader(t, w.live, quick)
	a, b, c := w.line(0), w.line(0), w.line(0)
	w.write(a + "\n" + b)
	r.drain()
	w.truncate()
	w.write(c + "\n")
	if diff := cmp.Diff([]string{a, b, "FileGone", c}, r.drain()); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// TestFollowCutFile: a file that was cut, but not at its beginning, is read on at its end.
func TestFollowCutFile(t *testing.T) {
	for _, away := range []bool{false, true} {
		w := newLogWriter(t)
		r := newLogReader(t, w.live, quick)
		a, b, c := w.line(4000), w.line(4000), w.line(0)
		w.write(a + "\n" + b + "\n")
		r.drain()
		r.store(2)
		if away {
			r.restart()
		}
		if err := os.Truncate(w.live, int64(len(a))+1); err != nil {
			t.Fatal(err)
		}
		r.drain()
		w.write(c + "\n")
		want := []string{a, b, "FileGone", c}
		if diff := cmp.Diff(want, r.drain()); diff != "" {
			t.Errorf("away %t (-want +got):\n%s", away, diff)
		}
		w.close()
	}
}

func TestFollowDamagedArchive(t *testing.T) {
	w := newLogWriter(t)
	defer w.close()
	r := newLogReader(t, w.live, quick)
	var lines []string
	for range 200 {
		lines = append(lines, w.line(500))
	}
	whole := gz(t, strings.Join(lines, "\n")+"\n")
	last := w.line(0)
	w.write(last + "\n")
	old := filepath.Join(w.dir, "audit-2026-11-21T06-00-00.000.log.gz")
	if err := os.WriteFile(old, []byte(whole[:len(whole)/2]), 0o600); err != nil {
		t.Fatal(err)
	}
	got := r.drain()
	n := len(got)
	if n < 10 || n > 200 || !slices.Equal(got[:n-2], lines[:n-2]) || got[n-2] != string(ingest.CutStream) || got[n-1] != last {
		t.Errorf("%d entries, the last %q", n, got[max(0, n-2):])
	}
}

// TestFollowErrors: what cannot be read is an error, and read when it can be.
func TestFollowErrors(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "audit.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := file.NewFollower([]file.Followed{{Path: dir + "/audit.log"}}, quick)
	if err != nil {
		t.Fatal(err)
	}
	next := func(from ingest.Mark) error {
		s, err := f.Open(t.Context(), dir+"/audit.log", from)
		if err != nil {
			return err
		}
		defer s.Close()
		_, err = s.Next(t.Context())
		return err
	}
	if err := next(ingest.Mark{}); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a folder: %v", err)
	}
	for _, m := range []ingest.Mark{
		{Offset: 5}, {Detail: "x"}, {Detail: "1;5.short;"}, {Detail: "2;0.;"}, {Detail: "1;0.;0."}, {Detail: "1;0.;9.x"}, {Offset: 5, Detail: "1;0.;"},
		{Detail: "1;99999.0123456789abcdef;"}, {Detail: "1;-1.0123456789abcdef;"},
	} {
		if err := next(m); err == nil || !strings.Contains(err.Error(), "the stored mark is not one of a file") {
			t.Errorf("mark %+v: %v", m, err)
		}
	}
	if _, err := f.Open(t.Context(), dir+"/other.log", ingest.Mark{}); err == nil {
		t.Error("a file that is not followed opens")
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := f.Open(ctx, dir+"/audit.log", ingest.Mark{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("context ended: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "audit.log")); err != nil {
		t.Fatal(err)
	}
	if err := next(ingest.Mark{}); err != nil {
		t.Errorf("no file yet: %v", err)
	}
}

func TestNewFollowerErrors(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		followed []file.Followed
		want     string
	}{
		"none":           {nil, "no file named"},
		"no path":        {[]file.Followed{{}}, "a path is empty"},
		"bad pattern":    {[]file.Followed{{Path: dir + "/[a.log"}}, "put a backslash"},
		"rotated":        {[]file.Followed{{Path: dir + "/a.log"}, {Path: dir + "/a.log.1"}}, "do not name it"},
		"two clusters":   {[]file.Followed{{Path: dir + "/a.log", Cluster: "x"}, {Path: dir + "/./a.log", Cluster: "y"}}, "name it once"},
		"apiserver's":    {[]file.Followed{{Path: dir + "/a.log"}, {Path: dir + "/a-2026-11-21T06-49-22.123.log.gz"}}, "do not name it"},
		"good":           {[]file.Followed{{Path: dir + "/a.log"}, {Path: dir + "/b.log"}, {Path: dir + "/a.log"}}, ""},
		"good, and glob": {[]file.Followed{{Path: dir + "/a.log"}, {Path: dir + "/*.log"}}, ""},
	} {
		_, err := file.NewFollower(c.followed, file.FollowOptions{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestFollowGlob: the files of a glob are partitions, but for those that others were rotated to.
func TestFollowGlob(t *testing.T) {
	dir := folder(t, map[string]string{
		"a/audit.log": "{}\n", "a/audit.log.1": "{}\n", "a/audit-2026-11-21T06-49-22.123.log": "{}\n", "a/audit.log.2.gz": "{}\n",
		"b/audit-2026-11-21T06-49-22.123.log": "{}\n", "b/audit-policy.log": "{}\n", "c/other.txt": "",
	})
	f, err := file.NewFollower([]file.Followed{{Path: dir + "/*/*.log*", Cluster: "prod"}, {Path: dir + "/late.log", Cluster: "late"}}, quick)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan ingest.Assignment), make(chan error, 1)
	go func() { ended <- f.Watch(ctx, func(a ingest.Assignment) { told <- a }) }()
	check := func(names ...string) {
		t.Helper()
		for i := range names {
			names[i] = filepath.Join(dir, names[i])
		}
		select {
		case a := <-told:
			if diff := cmp.Diff(ingest.Assignment{All: names, Own: names}, a); diff != "" {
				t.Errorf("assignment (-want +got):\n%s", diff)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no assignment")
		}
	}
	check("a/audit.log", "b/audit-policy.log", "b/audit.log", "late.log")
	if err := os.WriteFile(filepath.Join(dir, "c", "new.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check("a/audit.log", "b/audit-policy.log", "b/audit.log", "c/new.log", "late.log")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	s, err := f.Open(t.Context(), filepath.Join(dir, "late.log"), ingest.Mark{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if c, err := s.Next(t.Context()); err != nil || c.Cluster != "late" || !c.CaughtUp {
		t.Errorf("chunk %+v, %v", c, err)
	}
}

// TestFollowManyFiles: a mark does not grow without end, and what is older than all that it names is not read again.
func TestFollowManyFiles(t *testing.T) {
	w := newLogWriter(t)
	defer w.close()
	r := newLogReader(t, w.live, quick)
	var want []string
	put := func() {
		line := w.line(0)
		want = append(want, line)
		w.write(line + "\n")
	}
	for range 130 {
		put()
		w.rename("time")
		w.close()
	}
	put()
	r.drain()
	r.store(len(want))
	if n := len(r.ends[len(r.ends)-1].Detail); n > 3000 {
		t.Errorf("the mark has %d bytes", n)
	}
	r.restart()
	w.rename("time")
	w.close()
	put()
	if diff := cmp.Diff(want, r.drain()); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func FuzzFollow(f *testing.F) {
	f.Add([]byte("{}\n{}\r\n\n\x00\x00{}"), 3)
	f.Add([]byte("\x1f\x8b\n{}\n"), 1)
	f.Add([]byte(gz(f, "{}\n{\"a\":1}\n")), 40)
	f.Add(bytes.Repeat([]byte("\x00"), 2000), 7)
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		if len(data) == 0 || at < 0 {
			return
		}
		dir := t.TempDir()
		live := filepath.Join(dir, "audit.log")
		r := newLogReader(t, live, file.FollowOptions{MaxEntryBytes: 100, ChunkEntries: 2, ChunkBytes: 30,
			Poll: time.Microsecond, Idle: time.Microsecond, Quiet: time.Nanosecond})
		if err := os.WriteFile(live, data, 0o600); err != nil {
			t.Fatal(err)
		}
		whole := r.drain()
		r.stored = at % (len(whole) + 1)
		r.restart()
		if diff := cmp.Diff(whole, r.drain()); diff != "" {
			t.Errorf("read again (-first +second):\n%s", diff)
		}
	})
}
