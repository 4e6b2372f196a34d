package e2e_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"
)

// The recording that comes with the project: an audit log with its cluster and policies.
const (
	recordedLog      = "../../examples/audit.log.gz"
	recordedPolicies = "../../examples/policies"
	recordedCluster  = "../../examples/cluster"
	clusterName      = "test"
)

// recorded are the lines of the log.
func recorded(t testing.TB) [][]byte {
	t.Helper()
	f, err := os.Open(recordedLog)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if len(lines) < 1000 {
		t.Fatalf("the recording has only %d lines", len(lines))
	}
	return lines
}
