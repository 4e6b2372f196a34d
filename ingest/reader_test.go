package ingest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/ingest"
)

// readAll reads entries and decodes them: one string for each event and skip. It checks that entries are where they
// say they are.
func readAll(t testing.TB, r io.Reader, text string, max int) (got []string, err error) {
	t.Helper()
	reader := ingest.NewReader(r, "x", max)
	for {
		e, err := reader.Next()
		if err != nil {
			return got, err
		}
		before, behind := text[:e.At.Offset], text[e.At.Offset:]
		if e.At.Line != int64(1+strings.Count(before, "\n")) || !strings.HasPrefix(behind, string(e.Data)) {
			t.Errorf("%.40q is not at line %d, offset %d", e.Data, e.At.Line, e.At.Offset)
		}
		events, skips := ingest.Decode(e)
		for _, ev := range events {
			got = append(got, fmt.Sprintf("%s %d", ev.AuditID, ev.At.Line))
		}
		for _, s := range skips {
			got = append(got, fmt.Sprintf("%s %d", s.Reason, s.At.Line))
		}
	}
}

func TestReader(t *testing.T) {
	a, b, c := item("a"), item("b"), item("c")
	long := event(`"auditID":"long","requestObject":"` + strings.Repeat("x", 2000) + `"`)
	for _, tc := range []struct {
		name, text string
		max        int // 1000 if 0
		want       []string
	}{
		{name: "nothing"},
		{name: "empty lines", text: "\n\r\n \n"},
		{name: "lines", text: a + "\n\n" + b + "\r\n" + c + "\n", want: []string{"a 1", "b 3", "c 4"}},
		{name: "no last line end", text: a + "\n" + b, want: []string{"a 1", "b 2"}},
		{name: "byte order mark", text: "\ufeff" + a + "\n", want: []string{"a 1"}},
		{name: "two on a line", text: a + b + "\n" + c, want: []string{"a 1", "b 1", "c 2"}},
		{name: "broken line", text: a + "\n" + b[:30] + "\n" + c + "\n", want: []string{"a 1", "InvalidJSON 2", "c 3"}},
		{name: "broken lines first", text: b[:30] + "\n" + b[:18] + "\n" + a + "\n" + c,
			want: []string{"InvalidJSON 1", "InvalidJSON 2", "a 3", "c 4"}},
		{name: "first line cut where a value may follow", text: "{\"kind\":\n" + a + "\n" + b + "\n" + c,
			want: []string{"InvalidJSON 1", "a 2", "b 3", "c 4"}},
		{name: "first line cut in a list", text: "{\"sourceIPs\":[\n" + a + "\n" + b,
			want: []string{"InvalidJSON 1", "a 2", "b 3"}},
		{name: "text between", text: "starting\n" + a + "\nstopping\n", want: []string{"InvalidJSON 1", "a 2", "InvalidJSON 3"}},
		{name: "zeros after a crash", text: a + "\n\x00\x00\x00\x00\n" + b, want: []string{"a 1", "InvalidJSON 2", "b 3"}},
		{name: "cut line", text: a + "\n" + b[:30], want: []string{"a 1", "CutLine 2"}},
		{name: "cut in a string", text: a + "\n" + b[:12], want: []string{"a 1", "CutLine 2"}},
		{name: "last line is text", text: a + "\nstopping", want: []string{"a 1", "InvalidJSON 2"}},
		{name: "last line is cut behind elements", text: c + "\n[" + a + "," + b + "," + c[:20],
			want: []string{"c 1", "a 2", "b 2", "CutLine 2"}},
		{name: "last line is cut between elements", text: c + "\n[" + a + ",", want: []string{"c 1", "a 2", "CutLine 2"}},

		{name: "array, an element a line", text: "[\n" + a + ",\n" + b + "\n]\n", want: []string{"a 2", "b 3"}},
		{name: "array, begun on the line", text: "[" + a + ",\n" + b + ",\n" + c + "]", want: []string{"a 1", "b 2", "c 3"}},
		{name: "pretty list", text: pretty(t, list(a, b)), want: []string{"a 6", "b 11"}},
		{name: "pretty events", text: pretty(t, a) + "\n" + pretty(t, b) + "\n", want: []string{"a 1", "b 6"}},
		{name: "pretty events without indent", text: strings.ReplaceAll(pretty(t, a), "  ", "") + "\n",
			want: []string{"a 1"}},
		{name: "document, then lines", text: "[\n" + a + "\n]\n" + b + "\n" + c[:20] + "\n" + c + "\n",
			want: []string{"a 2", "b 4", "InvalidJSON 5", "c 6"}},
		{name: "document with a broken element", text: "[\n" + a + ",\n{\"x\":\"\n},\n" + b + "\n]",
			want: []string{"a 2", "InvalidJSON 3", "b 5"}},
		{name: "document with a line end behind a backslash", text: "[\n" + a + ",\n" + c + ",\n{\"x\":\"y\\\n,\"\":\"w{\"},\n" + b + "\n]",
			want: []string{"a 2", "c 3", "InvalidJSON 4", "b 6"}},
		{name: "document broken on its third line", text: "[\n" + a + ",\n{\"x\":},\n" + b + "\n]",
			want: []string{"a 2", "InvalidJSON 3", "b 4"}},
		{name: "document with an element whose brackets do not match", text: "[\n" + a + ",\n{\"x\":{},\n" + b + "\n]",
			want: []string{"a 2", "InvalidJSON 3", "CutLine 1"}},
		{name: "document with text between", text: "[\n" + a + ",\n" + b + ",\nwhat\n" + c + "]",
			want: []string{"a 2", "b 3", "InvalidJSON 4", "c 5"}},
		{name: "document cut in an element", text: "[\n" + a + ",\n" + b[:20], want: []string{"a 2", "CutLine 3"}},
		{name: "document cut behind an element", text: "[\n" + a + ",\n" + b, want: []string{"a 2", "b 3", "CutLine 1"}},

		{name: "long line", text: a + "\n" + long + "\n" + b, want: []string{"a 1", "TooLarge 2", "b 3"}},
		{name: "long first line", text: long + "\n" + b, want: []string{"TooLarge 1", "b 2"}},
		{name: "long last line", text: b + "\n" + long, want: []string{"b 1", "TooLarge 2"}},
		{name: "long line of text", text: a + "\n" + strings.Repeat("x", 3000) + "\n" + b,
			want: []string{"a 1", "TooLarge 2", "b 3"}},
		{name: "long list", text: a + "\n" + list(b, c) + "\n" + a + "\n", max: 80,
			want: []string{"a 1", "b 2", "c 2", "a 3"}},
		{name: "long array", text: "[" + a + "," + b + "]", max: 80, want: []string{"a 1", "b 1"}},
		{name: "long array with a long element", text: "[" + a + "," + long + "," + b + "]\n" + c, want: []string{"a 1", "TooLarge 1", "b 1", "c 2"}},
		{name: "long array not closed", text: "[" + a + "," + b + "\n" + c + "\n", max: 80,
			want: []string{"a 1", "b 1", "InvalidJSON 1", "c 2"}},
		{name: "long list of another version", text: strings.Replace(list(a, b), "/v1", "/v2", 1), max: 80,
			want: []string{"UnsupportedVersion 1", "UnsupportedVersion 1"}},
		{name: "document with a long element", text: "[\n" + a + ",\n" + long + ",\n" + b + "]",
			want: []string{"a 2", "TooLarge 3", "b 4"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			max := tc.max
			if max == 0 {
				max = 1000
			}
			for name, r := range map[string]io.Reader{
				"at once":      strings.NewReader(tc.text),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tc.text)),
				"early EOF":    iotest.DataErrReader(strings.NewReader(tc.text)),
			} {
				got, err := readAll(t, r, tc.text, max)
				if err != io.EOF {
					t.Errorf("%s: %v", name, err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func pretty(t testing.TB, data string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(data), "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An error of the stream comes after all that is complete before it.
func TestReaderError(t *testing.T) {
	broken := errors.New("broken")
	a, b := item("a"), item("b")
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{a + "\n", []string{"a 1"}},
		{a + "\n" + b[:20], []string{"a 1"}},
		{a + "\n" + b, []string{"a 1", "b 2"}},
		{a + "\nfoo", []string{"a 1"}},
		{"[" + a + "," + b + "," + a[:20], []string{"a 1", "b 1"}},
		{"[\n" + a + ",\n" + b + ",", []string{"a 2", "b 3"}},
	} {
		got, err := readAll(t, io.MultiReader(strings.NewReader(tc.text), iotest.ErrReader(broken)), tc.text, 1000)
		if err != broken {
			t.Errorf("%q: error %v", tc.text, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.text, diff)
		}
	}
}

// The same events come out, whatever they are wrapped in.
func TestReaderForms(t *testing.T) {
	lines := realLines(t)
	want := ids(t, bytes.Join(lines, []byte("\n")))
	if len(want) != len(lines) {
		t.Fatalf("%d events in %d lines", len(want), len(lines))
	}
	array := append(append([]byte("["), bytes.Join(lines, []byte(","))...), ']')
	forms := map[string][]byte{
		"array on a line": array,
		"array, an event a line": append(append([]byte("[\n"),
			bytes.Join(lines, []byte(",\n"))...), "\n]\n"...),
		"pretty array":      []byte(pretty(t, string(array))),
		"pretty list":       []byte(pretty(t, `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":`+string(array)+`}`)),
		"list, kind last":   []byte(`{"items":` + string(array) + `,"apiVersion":"audit.k8s.io/v1","kind":"EventList"}`),
		"lists in an array": []byte(`[{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":` + string(array) + `}]`),
	}
	for name, data := range forms {
		if diff := cmp.Diff(want, ids(t, data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// ids reads with a limit below the size of the whole, so that documents are taken apart.
func ids(t *testing.T, data []byte) (ids []string) {
	t.Helper()
	r := ingest.NewReader(bytes.NewReader(data), "x", 40_000)
	for {
		e, err := r.Next()
		if err == io.EOF {
			return ids
		}
		if err != nil {
			t.Fatal(err)
		}
		events, skips := ingest.Decode(e)
		for _, s := range skips {
			t.Errorf("skip %s", s)
		}
		for _, ev := range events {
			ids = append(ids, ev.AuditID)
		}
	}
}

// repeated reads text over and over, and calls each every 4 MiB.
type repeated struct {
	text string
	at   int
	each func()
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at%len(r.text):])
	if r.at>>22 != (r.at+n)>>22 && r.each != nil {
		r.each()
	}
	r.at += n
	return n, nil
}

// What was handed out is not written over by what is read later.
func TestReaderEntriesStay(t *testing.T) {
	const elements = 50_000 // some ten chunks
	elem := item("a")
	text := io.LimitReader(&repeated{text: elem + ","}, elements*int64(len(elem)+1))
	r := ingest.NewReader(io.MultiReader(strings.NewReader("["), text, strings.NewReader("]")), "x", 1000)
	var kept []ingest.Entry
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, e)
	}
	if len(kept) != elements {
		t.Fatalf("%d entries", len(kept))
	}
	for _, e := range kept {
		if string(e.Data) != elem {
			t.Fatalf("entry at %s became %q", e.At, e.Data)
		}
	}
}

// However long a line, an element or a document is, little of it is in memory.
func TestReaderMemory(t *testing.T) {
	const size, limit = 24 << 20, 8 << 20
	for name, tc := range map[string]struct{ begin, repeat string }{
		"line":              {"x", "x"},
		"line of an event":  {`{"x":"`, "x"},
		"string in a list":  {`["`, "x"},
		"element":           {"[\n\n{\"x\":\"", "x"},
		"document":          {"[\n\n", item("a") + ","},
		"list on a line":    {`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[`, item("a") + ","},
		"brackets":          {"", "["},
		"no end of a list":  {`{"items":[],"x":`, "[[]],"},
		"white space":       {"[", " \n"},
		"lines of nothing":  {"", "\n"},
		"lines of brackets": {"", "]}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			most := uint64(0)
			base := heap()
			body := &repeated{text: strings.Repeat(tc.repeat, 4096), each: func() { most = max(most, heap()) }}
			r := ingest.NewReader(io.MultiReader(strings.NewReader(tc.begin), io.LimitReader(body, size)), "x", 1<<20)
			for {
				if _, err := r.Next(); err != nil {
					break
				}
			}
			if body.at < size || most > base+limit {
				t.Errorf("read %d bytes, with %d more on the heap", body.at, most-base)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkReader(b *testing.B) {
	data, err := os.ReadFile("testdata/audit.log")
	if err != nil {
		b.Fatal(err)
	}
	lines := bytes.TrimSpace(data)
	array := append(append([]byte("["), bytes.ReplaceAll(lines, []byte("\n"), []byte(","))...), ']')
	for name, text := range map[string][]byte{"lines": data, "array": array} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r := ingest.NewReader(bytes.NewReader(text), "x", 64<<10)
				for {
					if _, err := r.Next(); err != nil {
						break
					}
				}
			}
		})
	}
}
