package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/ingest/file"
)

func TestOrder(t *testing.T) {
	rotation := map[string]string{
		// Names decide, not the events: the first of the live file is as old as may be.
		"audit-2026-11-21T06-49-22.123.log":    item("third", 30),
		"audit-2026-11-21T06-09-22.123.log.gz": gz(t, item("second", 40)),
		"audit-2025-12-31T23-59-59.999.log":    item("first", 50),
		"audit.log":                            item("live", 0),
	}
	for _, tc := range []struct {
		name     string
		files    map[string]string
		patterns []string
		want     []string
	}{
		{name: "rotated folder", files: rotation, patterns: []string{"."}, want: []string{"first", "second", "third", "live"}},
		{name: "glob", files: rotation, patterns: []string{"audit*"}, want: []string{"first", "second", "third", "live"}},
		{name: "glob of some", files: rotation, patterns: []string{"*.log"}, want: []string{"first", "third", "live"}},
		{name: "patterns keep their order", files: rotation, patterns: []string{"audit.log", "*T06*"},
			want: []string{"live", "second", "third"}},
		{name: "each file once", files: rotation, patterns: []string{"audit.log", "./audit.log", ".", "*.gz"},
			want: []string{"live", "first", "second", "third"}},
		{name: "by the first event", files: map[string]string{
			"audit.log.2.gz": gz(t, item("a", 10)+item("a", 11)), "audit.log.1": "broken\n" + item("b", 20), "audit.log": item("c", 30),
			"another": zst(t, item("d", 15)),
		}, patterns: []string{"."}, want: []string{"a", "a", "d", "InvalidJSON", "b", "c"}},
		{name: "hidden files and folders are left out", files: map[string]string{
			"audit.log": item("a", 1), ".audit.log.swp": "x", "old/audit.log": item("b", 1),
		}, patterns: []string{"."}, want: []string{"a"}},
		{name: "glob of folders", files: map[string]string{
			"m1/audit.log": item("b", 2), "m2/audit.log": item("a", 1), "m3/.keep": "",
		}, patterns: []string{"m*"}, want: []string{"a", "b"}},
		{name: "a name with brackets is no glob", files: map[string]string{"a[1].log": item("a", 1), "a1.log": item("b", 1)},
			patterns: []string{"a[1].log"}, want: []string{"a"}},
		{name: "compressed twin", files: map[string]string{
			"audit-2026-11-21T06-49-22.123.log": item("a", 1), "audit-2026-11-21T06-49-22.123.log.gz": gz(t, item("a", 1))[:15],
			"audit.log": item("b", 1), "audit.log.gz": gz(t, item("c", 1)),
		}, patterns: []string{"."}, want: []string{"DuplicateFile", "c", "a", "b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Chdir(folder(t, tc.files))
			var got []string
			for _, g := range drain(t, open(t, file.Options{}, tc.patterns...)) {
				name, _, _ := strings.Cut(g, " ")
				got = append(got, name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Without events there is only the time of the file.
func TestOrderByModification(t *testing.T) {
	dir := folder(t, map[string]string{"a": "x\n", "b": "x\n", "c": "x\n"})
	for i, name := range []string{"b", "c", "a"} {
		at := time.Date(2026, 11, 21, 6, i, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	got := drain(t, open(t, file.Options{}, dir))
	if diff := cmp.Diff([]string{"InvalidJSON b:1", "InvalidJSON c:1", "InvalidJSON a:1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLinksAreFollowed(t *testing.T) {
	dir := folder(t, map[string]string{"audit.log": item("a", 1)})
	links := t.TempDir()
	for link, target := range map[string]string{"one": "audit.log", "two": "audit.log"} {
		if err := os.Symlink(filepath.Join(dir, target), filepath.Join(links, link)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"a one:1"}, drain(t, open(t, file.Options{}, links))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := folder(t, map[string]string{"audit.log": "", "empty/.hidden": ""})
	gone := filepath.Join(dir, "gone.log")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{
		gone:                           "opening audit log: stat " + gone + ": no such file or directory",
		filepath.Join(dir, "*.gz"):     fmt.Sprintf("opening audit log: no file matches %q", filepath.Join(dir, "*.gz")),
		filepath.Join(dir, "a[.log"):   fmt.Sprintf("opening audit log: pattern %q: syntax error in pattern; put a backslash", filepath.Join(dir, "a[.log")),
		filepath.Join(dir, "empty"):    "opening audit log: folder " + filepath.Join(dir, "empty") + " holds no file",
		filepath.Join(dir, "dangling"): "no such file or directory",
		dir:                            "open " + filepath.Join(dir, "dangling") + ": no such file or directory",
	} {
		_, err := file.Open([]string{filepath.Join(dir, "audit.log"), pattern}, file.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %s", pattern, err, want)
		}
	}
	if _, err := file.Open(nil, file.Options{}); err == nil {
		t.Error("no pattern is no error")
	}
}

// A log that is rotated during the reading is read on under its old name.
func TestRotationWhileReading(t *testing.T) {
	dir := folder(t, map[string]string{
		"audit-2026-11-21T06-49-22.123.log": item("a", 1), "audit.log": item("b", 2) + item("c", 3),
	})
	s := open(t, file.Options{}, dir)
	live := filepath.Join(dir, "audit.log")
	if err := os.Rename(live, filepath.Join(dir, "audit-2026-11-21T06-59-22.123.log")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(live, []byte(item("d", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "audit-2026-11-21T06-49-22.123.log")); err != nil {
		t.Fatal(err)
	}
	want := []string{"a audit-2026-11-21T06-49-22.123.log:1", "b audit.log:1", "c audit.log:2"}
	if diff := cmp.Diff(want, drain(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
