package file_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/ingest"
)

// TestFollowAnyScript writes, rotates and reads in any order: each line comes once, in order, whatever is stored when
// the reader is killed.
func TestFollowAnyScript(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { followScript(t, rt, false) })
}

// TestFollowAnyScriptWithLosses does so while files are deleted and emptied as well: only lines of these may be missing.
func TestFollowAnyScriptWithLosses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { followScript(t, rt, true) })
}

func followScript(t *testing.T, rt *rapid.T, losses bool) {
	w := newLogWriter(t)
	defer w.close()
	opts := quick
	opts.ChunkEntries = rapid.IntRange(1, 5).Draw(rt, "entries")
	opts.ChunkBytes = rapid.IntRange(10, 4000).Draw(rt, "bytes")
	r := newLogReader(t, w.live, opts)
	defer r.stop()

	half := "" // what the writer still has to write of a line
	styles := rapid.SampledFrom([][]string{{"time"}, {"date"}, {"number"}, {"time", "date", "number"}}).Draw(rt, "styles")
	style := rapid.SampledFrom(styles)
	size := rapid.IntRange(0, 3000)
	steps := map[string]func(*rapid.T){
		"line": func(rt *rapid.T) {
			w.write(half + rapid.SampledFrom([]string{"", "\n", "\r\n", "\x00\x00"}).Draw(rt, "blank"))
			if half != "" {
				w.write("\n")
			}
			half = ""
			for range rapid.IntRange(1, 4).Draw(rt, "lines") {
				w.write(w.line(size.Draw(rt, "size")) + "\n")
			}
		},
		"half": func(rt *rapid.T) {
			// What holds no event and is named in another way than its neighbours has no place in their order. And which
			// of two files a cut line is from, nobody can tell.
			if half == "" && (w.holdsLine() || len(styles) == 1 && !losses) {
				half = w.line(size.Draw(rt, "size")) + "\n"
				n := rapid.IntRange(len(`{"auditID":"10000"`), len(half)-1).Draw(rt, "half")
				w.write(half[:n])
				half = half[n:]
			}
		},
		"rename": func(rt *rapid.T) { w.rename(style.Draw(rt, "style")) },
		"reopen": func(rt *rapid.T) {
			if w.file != nil && w.last().where != w.live {
				w.close()
				w.open()
				half = ""
			}
		},
		"rotate": func(rt *rapid.T) {
			w.rename(style.Draw(rt, "style"))
			w.close()
			half = ""
			if rapid.Bool().Draw(rt, "create") {
				w.open()
			}
		},
		"copytruncate": func(rt *rapid.T) {
			if half == "" && slices.Contains(styles, "number") {
				w.copyTruncate(rapid.Bool().Draw(rt, "compressed"))
			}
		},
		"compress": func(rt *rapid.T) {
			w.compress(rapid.IntRange(0, 9).Draw(rt, "which"), rapid.SampledFrom([]string{".gz", ".zst"}).Draw(rt, "ext"))
		},
		"read": func(rt *rapid.T) {
			for range rapid.IntRange(1, 6).Draw(rt, "chunks") {
				r.next()
			}
		},
		"drain":   func(*rapid.T) { r.drain() },
		"store":   func(rt *rapid.T) { r.store(rapid.IntRange(1, 20).Draw(rt, "entries")) },
		"restart": func(*rapid.T) { r.restart() },
	}
	if losses {
		steps["truncate"] = func(*rapid.T) {
			if half == "" {
				w.truncate()
			}
		}
		steps["remove"] = func(*rapid.T) {
			if w.file == nil || w.last().where == w.live {
				w.remove()
				half = ""
			}
		}
		steps["removeOldest"] = func(*rapid.T) { w.removeOldest() }
	}
	rt.Repeat(steps)
	// The rest of a rotated file comes when there is something behind it.
	w.write(half + w.line(0) + "\n")
	got := r.drain()
	checkFollowed(rt, w, got)
}

// checkFollowed compares what was read with what was written. Contents that were lost may be missing, or their ends;
// where only the end is, a skip says so.
func checkFollowed(t rapid.TB, w *logWriter, got []string) {
	gone := len(got)
	got = slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s == string(ingest.FileGone) })
	gone -= len(got)
	lost := 0
	for i, c := range w.contents {
		want := w.wants(c)
		n := 0
		for n < len(want) && n < len(got) && got[n] == want[n] {
			n++
		}
		if n < len(want) && !c.lost {
			t.Fatalf("content %d of %d, line %d (-want +got):\n%s", i, len(w.contents), n,
				cmp.Diff(want[n:], got[n:min(len(got), len(want))]))
		}
		if n > 0 && n < len(want) {
			lost++
		}
		got = got[n:]
	}
	if len(got) > 0 {
		t.Fatalf("read more than was written: %q", got)
	}
	if gone < lost {
		t.Fatalf("%d files ended early, and %d skips say so", lost, gone)
	}
}
