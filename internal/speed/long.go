package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// long takes what takes long: a log of ten million events, and a history of a million objects. The logs are made on the
// way and never written.
func (p *program) long(ctx context.Context, t *table) error {
	if err := p.files(); err != nil {
		return err
	}
	const events = 10_000_000
	u, at, err := p.stream(ctx, "50.yaml", mixedEvent, events)
	if err != nil {
		return fmt.Errorf("ten million events: %w", err)
	}
	t.add("replay of a mix of 10,000,000 events: memory, the most of it", fmt.Sprintf("%d MiB", u.memory>>20), "512 MiB", "")
	t.add("after each million", strings.Join(at, ", ")+" MiB", "", "")
	t.add("events a CPU second, the making of them left out", fmt.Sprintf("%.0f", events/u.cpu.Seconds()), "", "")
	for _, limit := range []string{"256Mi", "1Gi"} {
		u, at, err := p.stream(ctx, "1.yaml", createdEvent, 1_000_000, "--history-bytes", limit)
		if err != nil {
			return fmt.Errorf("a million objects: %w", err)
		}
		t.add("history of 1,000,000 Deployments, one policy, --history-bytes "+limit+": memory, the most of it", fmt.Sprintf("%d MiB", u.memory>>20), "", "")
		t.add("after each 100,000", strings.Join(at, ", ")+" MiB", "", "")
	}
	return nil
}

// stream replays events that come through a pipe, and tells the resident memory in MiB after each tenth of them.
func (p *program) stream(ctx context.Context, policies string, event func(int) string, count int, flags ...string) (usage, []string, error) {
	cmd := p.command(ctx, policies, "-", flags...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return usage{}, nil, err
	}
	if err := cmd.Start(); err != nil {
		return usage{}, nil, err
	}
	at, writeErr := write(in, event, count, cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return usage{}, nil, err
	}
	return usageOf(cmd), at, writeErr
}

func write(to io.WriteCloser, event func(int) string, count, pid int) (at []string, err error) {
	defer func() {
		if closeErr := to.Close(); err == nil {
			err = closeErr
		}
	}()
	w := bufio.NewWriterSize(to, 1<<20)
	for i := range count {
		if _, err := w.WriteString(event(i) + "\n"); err != nil {
			return nil, err
		}
		if (i+1)%(count/10) == 0 {
			now, err := resident(pid)
			if err != nil {
				return nil, err
			}
			at = append(at, now)
		}
	}
	return at, w.Flush()
}

// resident is the memory of a process that is in use, in MiB.
func resident(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(text))
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return "", fmt.Errorf("reading statm: %w", err)
	}
	return strconv.FormatInt(pages*int64(os.Getpagesize())>>20, 10), nil
}
