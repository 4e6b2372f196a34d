package grafana_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// processorTime is how long a process has run on a processor so far, as Linux counts it: to a hundredth of a second.
func processorTime(t *testing.T, pid uint32) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatalf("reading how long a query takes, which needs Linux: %v", err)
	}
	// Behind the name, which may hold anything, utime and stime are the 12th and 13th field: see proc(5).
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
