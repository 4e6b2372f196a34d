package file_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// cut stands for a line that its file ends inside of.
const cut = "CutLine"

// logWriter writes a log and rotates it, as apiservers and logrotate do. It remembers what it wrote.
type logWriter struct {
	t    testing.TB
	dir  string
	live string
	file *os.File // what is written to: the live file, or one that was renamed and is not left yet
	n    int
	// contents is what was written to each file, in order. The last is the one that is written to.
	contents []*writtenContent
}

type writtenContent struct {
	bytes.Buffer
	lost  bool   // deleted, or emptied with no copy
	where string // its path, empty if there is none
}

func newLogWriter(t testing.TB) *logWriter {
	dir := t.TempDir()
	return &logWriter{t: t, dir: dir, live: filepath.Join(dir, "audit.log")}
}

func (w *logWriter) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// open makes the live file, if the writer has none.
func (w *logWriter) open() {
	if w.file != nil {
		return
	}
	f, err := os.OpenFile(w.live, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	w.must(err)
	w.file = f
	w.contents = append(w.contents, &writtenContent{where: w.live})
}

func (w *logWriter) close() {
	if w.file != nil {
		w.must(w.file.Close())
		w.file = nil
	}
}

func (w *logWriter) last() *writtenContent { return w.contents[len(w.contents)-1] }

func (w *logWriter) write(text string) {
	w.open()
	_, err := io.WriteString(w.file, text)
	w.must(err)
	w.last().WriteString(text)
}

// line is an event that knows its number wherever it is cut behind its first bytes.
func (w *logWriter) line(size int) string {
	w.n++
	at := time.Date(2026, 11, 21, 6, 0, w.n, 0, time.UTC).Format(time.RFC3339)
	pad := strings.Repeat(fmt.Sprintf("<%d>", w.n), 3+size/8)
	return fmt.Sprintf(`{"auditID":"%d","stage":"ResponseComplete","stageTimestamp":%q,"pad":%q}`, w.n, at, pad)
}

// holdsLine tells whether the file that is written to holds a whole line.
func (w *logWriter) holdsLine() bool {
	return w.file != nil && strings.Contains(w.last().String(), "auditID")
}

// now is the writer's clock, for the names of rotated files. It goes on with the lines.
func (w *logWriter) now() time.Time {
	w.n++
	return time.Date(2026, 11, 21, 6, 0, w.n, 0, time.UTC)
}

// rename moves the live file away; the writer still writes to it.
func (w *logWriter) rename(style string) {
	w.open()
	if w.last().where != w.live {
		return // it was renamed already
	}
	to := w.rotatedName(style)
	w.must(os.Rename(w.live, to))
	w.last().where = to
}

func (w *logWriter) rotatedName(style string) string {
	switch style {
	case "time":
		return filepath.Join(w.dir, "audit-"+w.now().Format("2006-01-02T15-04-05.000")+".log")
	case "date":
		return w.live + w.now().Format("-20060102-150405")
	default:
		w.shift()
		return w.live + ".1"
	}
}

// shift gives all numbered files the next number, the oldest first.
func (w *logWriter) shift() {
	for n := 60; n > 0; n-- {
		for _, ext := range []string{"", ".gz", ".zst"} {
			from, to := fmt.Sprintf("%s.%d%s", w.live, n, ext), fmt.Sprintf("%s.%d%s", w.live, n+1, ext)
			if err := os.Rename(from, to); err == nil {
				w.moved(from, to)
			} else if !errors.Is(err, fs.ErrNotExist) {
				w.must(err)
			}
		}
	}
}

func (w *logWriter) moved(from, to string) {
	for _, c := range w.contents {
		if c.where == from {
			c.where = to
		}
	}
}

// copyTruncate copies the live file and empties it.
func (w *logWriter) copyTruncate(compressed bool) {
	w.open()
	if w.last().where != w.live {
		return
	}
	to := w.rotatedName("number")
	data, err := os.ReadFile(w.live)
	w.must(err)
	if compressed {
		to += ".gz"
		data = []byte(gz(w.t, string(data)))
	}
	w.must(os.WriteFile(to, data, 0o600))
	w.last().where = to
	w.must(os.Truncate(w.live, 0))
	w.contents = append(w.contents, &writtenContent{where: w.live})
}

// truncate empties the live file, and nothing else.
func (w *logWriter) truncate() {
	w.open()
	if w.last().where != w.live {
		return
	}
	w.must(os.Truncate(w.live, 0))
	w.last().lost, w.last().where = true, ""
	w.contents = append(w.contents, &writtenContent{where: w.live})
}

// remove deletes the live file; the writer opens another.
func (w *logWriter) remove() {
	w.open()
	w.close()
	w.forget(w.last())
}

func (w *logWriter) forget(c *writtenContent) {
	w.must(os.Remove(c.where))
	c.lost, c.where = true, ""
}

// rotated are the contents of files that are rotated and not written to any more, the oldest first.
func (w *logWriter) rotated() []*writtenContent {
	return slices.DeleteFunc(slices.Clone(w.contents), func(c *writtenContent) bool {
		return c.where == "" || w.file != nil && c == w.last() || c.where == w.live
	})
}

// compress puts a rotated file in gzip or zstd.
func (w *logWriter) compress(i int, ext string) {
	rotated := w.rotated()
	if len(rotated) == 0 {
		return
	}
	c := rotated[i%len(rotated)]
	if strings.HasSuffix(c.where, ".gz") || strings.HasSuffix(c.where, ".zst") {
		return
	}
	out, err := os.Create(c.where + ext)
	w.must(err)
	defer out.Close()
	var z io.WriteCloser = gzip.NewWriter(out)
	if ext == ".zst" {
		z, err = zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
		w.must(err)
	}
	_, err = z.Write(c.Bytes())
	w.must(err)
	w.must(z.Close())
	w.must(os.Remove(c.where))
	c.where += ext
}

func (w *logWriter) removeOldest() {
	if rotated := w.rotated(); len(rotated) > 0 {
		w.forget(rotated[0])
	}
}

// wants returns what a content comes to: its lines, and its rest if it is not written to any more.
func (w *logWriter) wants(c *writtenContent) []string {
	lines := strings.Split(c.String(), "\n")
	rest := lines[len(lines)-1]
	lines = lines[:len(lines)-1]
	switch {
	case c == w.last() || rest == "":
	case json.Valid([]byte(rest)):
		lines = append(lines, rest)
	default:
		lines = append(lines, cut)
	}
	for i := range lines {
		lines[i] = strings.Trim(lines[i], " \r\x00")
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}
