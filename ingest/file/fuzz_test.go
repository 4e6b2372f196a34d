package file_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/file"
)

// FuzzSource holds that a file's lines are all accounted for, that nothing in a file costs the lines around it, and
// that compression changes nothing.
func FuzzSource(f *testing.F) {
	a, b := item("a", 1), item("b", 2)
	for _, text := range []string{
		"", "\n", a, a + b, a + "\n\r\n" + b[:20], "[" + a + "," + b + "]", "[\n" + a + ",\n" + b + "]\n" + a, "{\n\"items\":[\n" + a + "]}",
		`[[{"x":[` + a + `,{"`, "\ufeff" + a, "x\x00\n" + a, gz(f, a+b), gz(f, a+b)[:30], gz(f, a) + "x", zst(f, a+b), zst(f, a+b)[:20],
		"BZh9", strings.Repeat("[", 300), strings.Repeat("x", 300) + "\n" + a, "{\"kind\":\n" + a + b, "[" + strings.Repeat(strings.TrimSpace(a)+",", 4),
	} {
		f.Add([]byte(text))
	}
	// One folder for all: the fuzzer's calls in a process come one after the other.
	dir := f.TempDir()
	read := func(t *testing.T, content []byte) (events []*ingest.Event, skips []ingest.Skip) {
		return readFile(t, filepath.Join(dir, "audit.log"), content)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		events, skips := read(t, data)
		for _, s := range skips {
			if s.Reason == "" || s.Detail == "" || s.At.Line < 1 {
				t.Errorf("skip %+v", s)
			}
		}
		if isPlain(data) {
			zippedEvents, zippedSkips := read(t, []byte(gz(t, string(data))))
			if diff := cmp.Diff(events, zippedEvents) + cmp.Diff(skips, zippedSkips); diff != "" {
				t.Errorf("in gzip (-plain +gzip):\n%s", diff)
			}
		}
		// Behind a line that is whole, all are lines.
		within := slices.Concat([]byte(a), data, []byte("\n"+b))
		events, skips = read(t, within)
		if got, want := len(events)+len(skips), 2+fullLines(data); got < want {
			t.Errorf("%d events and %d skips of %d lines", len(events), len(skips), want)
		}
		if len(events) < 2 || events[0].AuditID != "a" || events[len(events)-1].AuditID != "b" {
			t.Errorf("the lines around are lost: %v", events)
		} else if at := events[len(events)-1].At; at.Offset != int64(len(a)+len(data)+1) || at.Line != int64(2+bytes.Count(data, []byte("\n"))+1) {
			t.Errorf("the last line is at %+v", at)
		}
	})
}

func readFile(t testing.TB, path string, content []byte) (events []*ingest.Event, skips []ingest.Skip) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := file.Open([]string{path}, file.Options{MaxEntryBytes: 256})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for {
		e, err := s.Next(context.Background())
		if err == io.EOF {
			return events, skips
		}
		if err != nil {
			t.Fatal(err)
		}
		ev, sk := ingest.Decode(e)
		events = append(events, ev...)
		skips = append(skips, sk...)
	}
}

// isPlain tells what no one takes for a compressed file.
func isPlain(data []byte) bool {
	if len(data) < 2 {
		return true
	}
	return !slices.Contains([]string{"\x1f\x8b", "\x28\xb5", "\xfd7", "\x04\x22", "BZ", "PK"}, string(data[:2])) && data[1] != '*'
}

// fullLines counts the lines that must leave something behind. An empty list need not.
func fullLines(data []byte) (n int) {
	for line := range bytes.Lines(data) {
		if len(bytes.Trim(line, " \n\r\t[],")) > 0 && !bytes.Contains(line, []byte("tems")) {
			n++
		}
	}
	return n
}

func BenchmarkSource(b *testing.B) {
	data, err := os.ReadFile("../testdata/audit.log")
	if err != nil {
		b.Fatal(err)
	}
	lines := bytes.Repeat(data, 20)
	array := "[" + strings.ReplaceAll(strings.TrimSpace(string(lines)), "\n", ",") + "]"
	for _, form := range []struct{ name, content string }{
		{"lines", string(lines)}, {"gzip", gz(b, string(lines))}, {"zstd", zst(b, string(lines))}, {"array", array},
	} {
		b.Run(form.name, func(b *testing.B) {
			path := filepath.Join(folder(b, map[string]string{"x": form.content}), "x")
			b.SetBytes(int64(len(lines)))
			b.ReportAllocs()
			for b.Loop() {
				s, err := file.Open([]string{path}, file.Options{})
				for err == nil {
					_, err = s.Next(context.Background())
				}
				if err != io.EOF {
					b.Fatal(err)
				}
				_ = s.Close()
			}
		})
	}
}
