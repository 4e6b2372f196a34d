// Command speed measures vapshadow beside its targets and beside the apiserver's own code, and writes what it found into
// docs/performance.md. "make bench" runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	binary := flag.String("binary", "bin/vapshadow", "the program to measure")
	count := flag.Int("count", 3, "how often each figure is taken, three times as often where it is quick; the middle one counts")
	long := flag.Bool("long", false, "take what takes long: ten million events, a million objects; once, instead of the rest")
	into := flag.String("into", "docs/performance.md", "the document to write the table into; empty for none")
	flag.Parse()
	if err := run(context.Background(), *binary, *count, *long, *into); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary string, count int, long bool, into string) error {
	dir, err := os.MkdirTemp("", "speed")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // The system empties its temporary folder too.
	t := &table{name: "make bench"}
	p := &program{binary: binary, dir: dir, count: count}
	if long {
		t.name = "make bench LONG=1"
		err = p.long(ctx, t)
	} else {
		err = short(ctx, t, p)
	}
	if err != nil {
		return err
	}
	fmt.Print(t)
	if into == "" {
		return nil
	}
	return t.writeInto(filepath.Clean(into))
}

// short takes what is taken in a few minutes.
func short(ctx context.Context, t *table, p *program) error {
	if err := evaluation(ctx, t, p.count); err != nil {
		return fmt.Errorf("measuring the evaluation: %w", err)
	}
	if err := p.measure(ctx, t); err != nil {
		return fmt.Errorf("measuring the program: %w", err)
	}
	if err := service(ctx, t, p.count); err != nil {
		return fmt.Errorf("measuring the service: %w", err)
	}
	return nil
}
