package file_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/file"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is a small event, named by its auditID, at a minute.
func item(id string, minute int) string {
	return fmt.Sprintf(`{"level":"Metadata","auditID":%q,"stage":"ResponseComplete","stageTimestamp":"2026-11-21T06:%02d:00.000000Z"}`,
		id, minute) + "\n"
}

func gz(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zst(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(text), nil))
}

// folder writes files and returns where.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// drain reads a source to its end: one string for each event and skip, with file and line.
func drain(t testing.TB, s *file.Source) []string {
	t.Helper()
	var got []string
	for {
		e, err := s.Next(context.Background())
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		events, skips := ingest.Decode(e)
		for _, ev := range events {
			got = append(got, fmt.Sprintf("%s %s:%d", ev.AuditID, filepath.Base(ev.At.Source), ev.At.Line))
		}
		for _, skip := range skips {
			got = append(got, fmt.Sprintf("%s %s:%d", skip.Reason, filepath.Base(skip.At.Source), skip.At.Line))
		}
	}
}

func open(t testing.TB, opts file.Options, patterns ...string) *file.Source {
	t.Helper()
	s, err := file.Open(patterns, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestContents(t *testing.T) {
	a, b, c := item("a", 1), item("b", 2), item("c", 3)
	ab := gz(t, a+b)
	flipped := []byte(ab)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	zab := zst(t, a+b)
	big := strings.Repeat(a+b+c, 5000)
	for _, tc := range []struct {
		name, content string
		want          []string
	}{
		{"empty", "", nil},
		{"plain", a + b, []string{"a x:1", "b x:2"}},
		{"gzip", ab, []string{"a x:1", "b x:2"}},
		{"gzip of nothing", gz(t, ""), nil},
		{"gzip, many members", ab + gz(t, "") + gz(t, c[:30]) + gz(t, c[30:]), []string{"a x:1", "b x:2", "c x:3"}},
		{"zstd", zab, []string{"a x:1", "b x:2"}},
		{"zstd, many frames", zab + zst(t, c), []string{"a x:1", "b x:2", "c x:3"}},
		{"zstd behind a skippable frame", "\x50\x2a\x4d\x18\x02\x00\x00\x00xx" + zab, []string{"a x:1", "b x:2"}},
		{"document in gzip", gz(t, "[\n"+a+",\n"+b+"]"), []string{"a x:2", "b x:4"}},
		{"gzip without its end", ab[:len(ab)-8], []string{"a x:1", "b x:2", "CutStream x:3"}},
		{"gzip, second member cut", ab + gz(t, c)[:12], []string{"a x:1", "b x:2", "CutStream x:3"}},
		{"gzip cut on a line", gz(t, a+b[:40])[:len(gz(t, a+b[:40]))-4], []string{"a x:1", "CutStream x:2"}},
		{"gzip, nothing but its name", ab[:2], []string{"CutStream x:1"}},
		{"gzip, wrong checksum", string(flipped), []string{"a x:1", "b x:2", "CorruptStream x:3"}},
		{"gzip and something else", ab + "something else", []string{"a x:1", "b x:2", "CorruptStream x:3"}},
		{"zstd cut", zab + zst(t, c)[:9], []string{"a x:1", "b x:2", "CutStream x:3"}},
		{"zstd and something else", zab + "something else", []string{"a x:1", "b x:2", "CorruptStream x:3"}},
		{"bzip2", "BZh91AY&SY", []string{"UnsupportedCompression x:1"}},
		{"xz", "\xfd7zXZ\x00\x00", []string{"UnsupportedCompression x:1"}},
		{"corrupt line", a + b[:30] + "\n" + c, []string{"a x:1", "InvalidJSON x:2", "c x:3"}},
		{"cut line", a + b[:30], []string{"a x:1", "CutLine x:2"}},
		{"too large", a + strings.Repeat("x", 5000) + "\n" + c, []string{"a x:1", "TooLarge x:2", "c x:3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := folder(t, map[string]string{"x": tc.content, "y": c})
			s := open(t, file.Options{MaxEntryBytes: 4000}, filepath.Join(dir, "x"), filepath.Join(dir, "y"))
			// Whatever happens to a file, the next one is read.
			if diff := cmp.Diff(append(tc.want, "c y:1"), drain(t, s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if p := s.Progress(); p.Read != p.Total || p.Total != int64(len(tc.content)+len(c)) {
				// Behind what cannot be decompressed, nothing is read.
				if !strings.Contains(fmt.Sprint(tc.want), "Stream") {
					t.Errorf("progress %+v", p)
				}
			}
			if diff := cmp.Diff(tc.want, drain(t, open(t, file.Options{MaxEntryBytes: 4000}, filepath.Join(dir, "x")))); diff != "" {
				t.Errorf("alone (-want +got):\n%s", diff)
			}
		})
	}

	t.Run("long streams cut anywhere", func(t *testing.T) {
		for _, whole := range []string{gz(t, big), zst(t, big)} {
			for _, cut := range []int{5, 20, len(whole) / 2, len(whole) - 1} {
				dir := folder(t, map[string]string{"x": whole[:cut]})
				got := drain(t, open(t, file.Options{}, dir))
				last := len(got) - 1
				if !strings.HasPrefix(got[last], "CutStream") || last > 15_000 {
					t.Errorf("cut at %d of %d: %d entries, the last %s", cut, len(whole), last, got[last])
				}
				for i, g := range got[:last] {
					if want := fmt.Sprintf("%c x:%d", 'a'+i%3, i+1); g != want {
						t.Fatalf("got %s, want %s", g, want)
					}
				}
			}
		}
	})
}

// The whole of a real log comes out of each form of compression, with the same positions.
func TestReal(t *testing.T) {
	data, err := os.ReadFile("../testdata/audit.log")
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"plain": string(data), "gz": gz(t, string(data)), "zst": zst(t, string(data))})
	for _, name := range []string{"plain", "gz", "zst"} {
		s := open(t, file.Options{}, filepath.Join(dir, name))
		n := 0
		for {
			e, err := s.Next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
			events, skips := ingest.Decode(e)
			if len(events) != 1 || len(skips) != 0 || e.At.Line != int64(n) || !bytes.HasPrefix(data[e.At.Offset:], e.Data) {
				t.Errorf("%s: %d events, %v", e.At, len(events), skips)
			}
		}
		if want := bytes.Count(data, []byte("\n")); n != want {
			t.Errorf("%s: %d entries of %d", name, n, want)
		}
	}
}

func TestStdin(t *testing.T) {
	a, b := item("a", 1), item("b", 2)
	dir := folder(t, map[string]string{"x": b})
	s := open(t, file.Options{Stdin: strings.NewReader(gz(t, a))}, "-", filepath.Join(dir, "x"), "-")
	if diff := cmp.Diff([]string{"a -:1", "b x:1"}, drain(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := s.Progress(); p.Total != 0 || p.Read != int64(len(gz(t, a))+len(b)) {
		t.Errorf("progress %+v", p)
	}
}

// A context ends a read that would wait for ever.
func TestInterrupt(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	s := open(t, file.Options{Stdin: r}, "-")
	go func() { _, _ = io.WriteString(w, item("a", 1)+"{") }()
	ctx, cancel := context.WithCancel(context.Background())
	if e, err := s.Next(ctx); err != nil || e.At.Line != 1 {
		t.Fatalf("got %v, %v", e, err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestCancelled(t *testing.T) {
	dir := folder(t, map[string]string{"x": item("a", 1)})
	s := open(t, file.Options{}, dir)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"a x:1"}, drain(t, s)); diff != "" {
		t.Errorf("after it (-want +got):\n%s", diff)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is on fire") }

// An error of reading is none of the content: it ends all.
func TestReadError(t *testing.T) {
	packed := gz(t, strings.Repeat(item("a", 1), 10))
	for _, begin := range []string{item("a", 1), packed[:len(packed)-9]} {
		s := open(t, file.Options{Stdin: io.MultiReader(strings.NewReader(begin), failing{})}, "-")
		var err error
		for n := 0; err == nil; n++ {
			var e ingest.Entry
			if e, err = s.Next(context.Background()); e.Skip != nil {
				t.Errorf("skip %s", e.Skip)
			}
		}
		if err == io.EOF || !strings.Contains(err.Error(), "reading audit log -: the disk is on fire") {
			t.Errorf("error %v", err)
		}
		if _, again := s.Next(context.Background()); again != err {
			t.Errorf("then %v", again)
		}
	}
}

// A pipe has a name, but no size.
func TestNamedPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	go func() { _ = os.WriteFile(path, []byte(item("a", 1)), 0o600) }()
	s := open(t, file.Options{}, path)
	if diff := cmp.Diff([]string{"a pipe:1"}, drain(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := s.Progress(); p.Total != 0 {
		t.Errorf("progress %+v", p)
	}
}
