package main

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestBallast(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, c := range []struct {
		name, gogc         string
		limit, wantedLimit int64
		wanted             int
	}{
		{"nothing set", "", math.MaxInt64, math.MaxInt64, ballastBytes},
		{"a limit", "", 500 << 20, 564 << 20, ballastBytes},
		{"GOGC", "200", math.MaxInt64, math.MaxInt64, 0},
		{"both", "off", 500 << 20, 500 << 20, 0},
	} {
		debug.SetMemoryLimit(c.limit)
		held := ballast(func(name string) string { return map[string]string{"GOGC": c.gogc}[name] })
		if limit := debug.SetMemoryLimit(-1); len(held) != c.wanted || limit != c.wantedLimit {
			t.Errorf("%s: %d bytes of ballast, limit %d, want %d and %d", c.name, len(held), limit, c.wanted, c.wantedLimit)
		}
	}
}
