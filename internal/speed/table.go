package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// table has a row a figure.
type table struct {
	// name is the command that makes it.
	name string
	rows []row
}

type row struct{ what, figure, target, upstream string }

func (t *table) add(what, figure, target, upstream string) {
	t.rows = append(t.rows, row{what, figure, target, upstream})
}

func (t *table) String() string {
	var out strings.Builder
	out.WriteString("| what | measured | target | the apiserver's code |\n|---|---|---|---|\n")
	for _, r := range t.rows {
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.what, r.figure, r.target, r.upstream)
	}
	fmt.Fprintf(&out, "\n%s, %s/%s, %d CPUs.\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	return out.String()
}

// ends is the line behind a table; the one before it names the command.
const ends = "<!-- to here -->\n"

// writeInto puts the table in the place of the one before it.
func (t *table) writeInto(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begins := "<!-- " + t.name + " writes from here -->\n"
	before, rest, found := strings.Cut(string(text), begins)
	_, after, closed := strings.Cut(rest, ends)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table: the lines %q and %q", path, strings.TrimSpace(begins), strings.TrimSpace(ends))
	}
	return os.WriteFile(path, []byte(before+begins+t.String()+ends+after), 0o644)
}
