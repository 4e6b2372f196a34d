package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// benchmark runs a Go benchmark, all of it or the parts of some name, and returns the figures of each part by their unit.
func benchmark(ctx context.Context, pkg, name, parts, duration string) (map[string]map[string]float64, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", name+parts, "-benchtime", duration, pkg)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	results := map[string]map[string]float64{}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark"+name) || f[3] != "ns/op" {
			continue
		}
		figures := map[string]float64{}
		for i := 2; i+1 < len(f); i += 2 {
			if figures[f[i+1]], err = strconv.ParseFloat(f[i], 64); err != nil {
				return nil, fmt.Errorf("reading %q: %w", s.Text(), err)
			}
		}
		of := strings.TrimSuffix(strings.TrimPrefix(f[0], "Benchmark"+name), fmt.Sprint("-", runtime.GOMAXPROCS(0)))
		results[strings.TrimPrefix(of, "/")] = figures
	}
	return results, nil
}
