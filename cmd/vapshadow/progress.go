package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// redrawEvery keeps the line lively without costing the terminal, or the replay, anything.
const redrawEvery = 200 * time.Millisecond

// terminal is a screen that shows a progress line; the zero value shows none.
type terminal struct {
	io.Writer
	width func() int // columns; asked at each drawing, for people resize windows
}

// progress draws one line over itself: how much was read, how fast, and how long the rest will take.
// It may be used from several goroutines.
type progress struct {
	terminal terminal
	now      func() time.Time
	start    time.Time

	mu    sync.Mutex
	drawn time.Time // zero: the line is not on the screen
}

func newProgress(t terminal, now func() time.Time) *progress {
	return &progress{terminal: t, now: now, start: now()}
}

// update redraws the line if it is time to. total is 0 where nobody knows it (standard input).
func (p *progress) update(read, total, events int64) {
	if p.terminal.Writer == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	last := p.drawn
	if last.IsZero() {
		last = p.start // what is done within a moment needs no line
	}
	if now.Sub(last) < redrawEvery {
		return
	}
	p.drawn = now
	line := progressLine(read, total, events, now.Sub(p.start))
	if width := p.terminal.width(); len(line) >= width { // a full row would wrap, and the next drawing would not reach it
		line = line[:max(width-1, 0)]
	}
	// A screen that cannot be written to is no reason to end a replay.
	_, _ = fmt.Fprintf(p.terminal, "\r%s\x1b[K", line)
}

// clear takes the line off the screen.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn.IsZero() {
		return
	}
	p.drawn = time.Time{}
	_, _ = io.WriteString(p.terminal, "\r\x1b[K")
}

// around gives a writer to w that takes the line off the screen first, so that a report does not begin in its row.
func (p *progress) around(w io.Writer) io.Writer {
	if p.terminal.Writer == nil {
		return w
	}
	return clearing{p, w}
}

type clearing struct {
	progress *progress
	io.Writer
}

func (c clearing) Write(b []byte) (int, error) {
	c.progress.clear()
	return c.Writer.Write(b)
}

func progressLine(read, total, events int64, elapsed time.Duration) string {
	speed := grouped(int64(float64(events)/elapsed.Seconds())) + " events/s"
	if total <= 0 {
		return fmt.Sprintf("%s  %s events  %s", binarySize(read), grouped(events), speed)
	}
	read = min(read, total) // a live file grows while it is read
	line := fmt.Sprintf("%3d%%  %s of %s  %s", percent(read, total), binarySize(read), binarySize(total), speed)
	if read == 0 {
		return line
	}
	left := time.Duration(float64(elapsed) * float64(total-read) / float64(read))
	return line + fmt.Sprintf("  %s left", left.Round(time.Second))
}

// percent rounds down, so that 100 means all of it.
func percent(part, whole int64) int { return int(float64(part) / float64(whole) * 100) }

func binarySize(bytes int64) string {
	const units = "KMGTPE"
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	size, unit := float64(bytes)/1024, 0
	for ; size >= 1024; unit++ {
		size /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", size, units[unit])
}

// grouped writes 1234567 as 1,234,567.
func grouped(n int64) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// progressTerminal is standard error, if a person looks at it and no records scroll over the same screen.
func (f *replayFlags) progressTerminal(env environ, s stdio) terminal {
	file, ok := s.err.(*os.File)
	if !ok || f.quiet || env("TERM") == "dumb" || !isTerminal(file) {
		return terminal{}
	}
	if f.output.value == "jsonl" && isTerminal(s.out) {
		return terminal{}
	}
	return terminal{Writer: file, width: func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil || width == 0 { // 0: a terminal that was never told its size, as in some containers
			return 80
		}
		return width
	}}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
