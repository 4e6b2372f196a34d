package file_test

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestFollowWhileWriting writes, rotates and compresses while the log is followed, by a reader that is killed at any
// moment: each line comes once, in order.
func TestFollowWhileWriting(t *testing.T) {
	for _, styles := range [][]string{{"number"}, {"time"}, {"time", "number", "date"}} {
		w := newLogWriter(t)
		opts := quick
		opts.ChunkEntries = 20
		opts.Quiet = 5 * time.Millisecond
		r := newLogReader(t, w.live, opts)
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			for range 30 {
				writeAndRotate(w, styles[rand.IntN(len(styles))])
			}
		}()
		for writing := true; writing; {
			for range rand.IntN(10) {
				r.next()
			}
			r.store(rand.IntN(200))
			if rand.IntN(3) == 0 {
				r.restart()
			}
			select {
			case <-wrote:
				writing = false
			default:
			}
		}
		w.write(w.line(0) + "\n")
		got := r.drain()
		w.close()
		checkFollowed(t, w, got)
		t.Logf("%v: %d contents, %d lines", styles, len(w.contents), len(got))
	}
}

// writeAndRotate writes some lines, some in pieces, and rotates the log.
func writeAndRotate(w *logWriter, style string) {
	pause := func() {
		if rand.IntN(4) == 0 {
			time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		}
	}
	lines := func() {
		for range 1 + rand.IntN(30) {
			line := w.line(rand.IntN(2000)) + "\n"
			n := rand.IntN(len(line))
			w.write(line[:n])
			pause()
			w.write(line[n:])
		}
	}
	lines()
	if style == "number" && rand.IntN(2) == 0 {
		w.copyTruncate(rand.IntN(2) == 0)
	} else {
		w.rename(style)
		if rand.IntN(2) == 0 {
			pause()
			lines() // until it knows that the file was moved
		}
		w.close()
	}
	pause()
	if rand.IntN(3) == 0 {
		w.compress(rand.IntN(1000), ".gz")
	}
}
