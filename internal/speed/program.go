package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"
)

// program measures the program as a whole: whole processes, by the system's own account of their CPU time and memory.
type program struct {
	binary, dir string
	count       int
}

// usage is what a run of the program took.
type usage struct {
	cpu time.Duration
	// memory is the largest resident set, in bytes.
	memory int64
}

const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: u, resourceVersion: \"1\", labels: {team: shop}}}\n"

// files writes what all replays are given.
func (p *program) files() error {
	for name, text := range map[string]string{
		"1.yaml": policies(1), "50.yaml": policies(50), "500.yaml": policies(500), "cluster.yaml": namespace, "empty.log": "",
	} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) measure(ctx context.Context, t *table) error {
	if err := p.files(); err != nil {
		return err
	}
	if err := p.start(ctx, t); err != nil {
		return err
	}
	for _, log := range []struct {
		what, name, suffix string
		event              func(int) string
		count              int
		figure             func(events, bytes float64) string
		target             string
	}{
		{"replay of updates of 10 KB, 50 policies matching", "matching", ".gz", updateEvent, 5000, events, "5,000 events a CPU second"},
		{"replay of such updates, the image new each time", "changing", ".gz", changingEvent, 5000, events, ""},
		{"replay of a mix, a tenth of it such updates", "mixed", ".gz", mixedEvent, 30000, events, "30,000 events a CPU second"},
		{"replay of reads, as plain JSON lines", "reads", "", readEvent, 100000, megabytes, "400 MB a CPU second"},
	} {
		if err := p.replay(ctx, t, log.what, log.name, log.suffix, log.event, log.count, log.figure, log.target); err != nil {
			return fmt.Errorf("%s: %w", log.name, err)
		}
	}
	return p.bothCores(ctx, t)
}

func events(events, _ float64) string   { return fmt.Sprintf("%.0f events", events) }
func megabytes(_, bytes float64) string { return fmt.Sprintf("%.0f MB", bytes/1e6) }

func (p *program) start(ctx context.Context, t *table) error {
	few, many, err := p.both(ctx, p.count, func(ctx context.Context, long bool) (usage, error) {
		return p.run(ctx, 0, map[bool]string{false: "50.yaml", true: "500.yaml"}[long], "empty.log")
	})
	if err != nil {
		return err
	}
	t.add("start with 500 policies of three expressions", fmt.Sprintf("%.2f CPU seconds", many.cpu.Seconds()), "5 (1 a hundred)", "")
	t.add("each hundred policies more", fmt.Sprintf("%.2f CPU seconds", (many.cpu-few.cpu).Seconds()/4.5), "1", "")
	return nil
}

// replay measures what each event more takes: a long log less a short one, so that the start is left out.
func (p *program) replay(ctx context.Context, t *table, what, name, suffix string, event func(int) string, count int, figure func(events, bytes float64) string, target string) error {
	size := int64(0)
	for _, long := range []bool{false, true} {
		n, err := p.write(p.logName(name, suffix, long), event, times(long)*count)
		if err != nil {
			return err
		}
		size = n - size
	}
	rounds := p.count
	if target != "" {
		rounds *= 3 // They are quick, and what matters hangs on them.
	}
	short, long, err := p.both(ctx, rounds, func(ctx context.Context, long bool) (usage, error) {
		return p.run(ctx, 0, "50.yaml", p.logName(name, suffix, long))
	})
	if err != nil {
		return err
	}
	seconds := (long.cpu - short.cpu).Seconds()
	more := float64((times(true) - times(false)) * count)
	t.add(what, figure(more/seconds, float64(size)/seconds)+" a CPU second", target, "")
	t.add(what+": memory after one part, and after four", fmt.Sprintf("%d and %d MiB", short.memory>>20, long.memory>>20), "512 MiB", "")
	return nil
}

func times(long bool) int {
	if long {
		return 4
	}
	return 1
}

func (p *program) logName(name, suffix string, long bool) string {
	return fmt.Sprintf("%s-%d.log%s", name, times(long), suffix)
}

// both takes two figures in turn, so that both have the machine as it is, and returns the middle ones by CPU time.
func (p *program) both(ctx context.Context, rounds int, take func(ctx context.Context, long bool) (usage, error)) (short, long usage, err error) {
	taken := map[bool][]usage{}
	for range rounds {
		for _, long := range []bool{false, true} {
			u, err := take(ctx, long)
			if err != nil {
				return usage{}, usage{}, err
			}
			taken[long] = append(taken[long], u)
		}
	}
	return middleUsage(taken[false]), middleUsage(taken[true]), nil
}

func middleUsage(list []usage) usage {
	cpu := make([]time.Duration, len(list))
	for i, u := range list {
		cpu[i] = u.cpu
	}
	at := middle(cpu)
	for _, u := range list {
		if u.cpu == at {
			return u
		}
	}
	return usage{}
}

// run replays a log once, on so many cores; 0 is all there are.
func (p *program) run(ctx context.Context, cores int, policies, log string) (usage, error) {
	cmd := p.command(ctx, policies, filepath.Join(p.dir, log))
	if cores > 0 {
		cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", cores))
	}
	if err := cmd.Run(); err != nil {
		return usage{}, err
	}
	return usageOf(cmd), nil
}

// command is a replay of a log with policies.
func (p *program) command(ctx context.Context, policies, log string, more ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.binary, append([]string{"replay", "-q", "--kubernetes-version", "1.37",
		"--policies", filepath.Join(p.dir, policies), "--cluster", filepath.Join(p.dir, "cluster.yaml"), "--audit-log", log}, more...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// usageOf is what a process that has ended took.
func usageOf(cmd *exec.Cmd) usage {
	u := usage{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.memory = r.Maxrss << 10
	}
	return u
}

// write writes a log of so many events, and tells its length before compression.
func (p *program) write(name string, event func(int) string, count int) (size int64, err error) {
	file, err := os.Create(filepath.Join(p.dir, name))
	if err != nil {
		return 0, err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	plain := bufio.NewWriter(file)
	w, end := plain, func() error { return nil }
	if filepath.Ext(name) == ".gz" {
		z := gzip.NewWriter(plain)
		w = bufio.NewWriter(z)
		end = func() error {
			if err := w.Flush(); err != nil {
				return err
			}
			return z.Close()
		}
	}
	for i := range count {
		n, err := w.WriteString(event(i) + "\n")
		if err != nil {
			return 0, err
		}
		size += int64(n)
	}
	if err := end(); err != nil {
		return 0, err
	}
	return size, plain.Flush()
}
