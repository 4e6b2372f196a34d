package pipeline_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/internal/pipeline"
	"github.com/vapshadow/vapshadow/sink"
)

const (
	exampleLog      = "../../examples/audit.log.gz"
	exampleCluster  = "../../examples/cluster"
	examplePolicies = "../../examples/policies"
)

// TestHistorySplit: the log of the examples in two runs, with a history between them, gives the records of one run.
func TestHistorySplit(t *testing.T) {
	lines := exampleLines(t)
	policiesToo := []string{exampleCluster, examplePolicies}
	for _, tt := range []struct {
		name string
		cfg  pipeline.ReplayConfig
		// again is what the second run is given of the cluster.
		again []string
		cuts  []int
	}{
		{"given policies", pipeline.ReplayConfig{Policies: []string{examplePolicies}, Cluster: []string{exampleCluster}}, nil, []int{200, 512, 1100}},
		{"given policies and the old snapshot again", pipeline.ReplayConfig{Policies: []string{examplePolicies}, Cluster: []string{exampleCluster}}, []string{exampleCluster}, []int{1000}},
		{"the cluster's policies", pipeline.ReplayConfig{Cluster: policiesToo}, nil, []int{800}},
		{"the cluster's policies and the old snapshot again", pipeline.ReplayConfig{Cluster: policiesToo}, policiesToo, []int{900}},
		{"the log's policies", pipeline.ReplayConfig{Cluster: []string{exampleCluster}}, nil, []int{700}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, at := range tt.cuts {
				first, second := writeLog(t, lines[:at]), writeLog(t, lines[at:])
				history := filepath.Join(t.TempDir(), "history")
				cfg := tt.cfg
				cfg.AuditLog = []string{first, second}
				whole := replayAll(t, cfg)
				cfg.AuditLog, cfg.History = []string{first}, history
				before := replayAll(t, cfg)
				cfg.AuditLog, cfg.Cluster = []string{second}, tt.again
				after := replayAll(t, cfg)
				if len(before) == 0 || len(after) == 0 || len(before)+len(after) != len(whole) {
					t.Fatalf("%d and %d records, want %d", len(before), len(after), len(whole))
				}
				if diff := cmp.Diff(whole[len(before):], after); diff != "" {
					t.Fatalf("cut at %d: -whole +in two:\n%.3000s", at, diff)
				}
			}
		})
	}
}

// TestHistoryNeeded: without the history the second half of the log is not what it is with it.
func TestHistoryNeeded(t *testing.T) {
	lines := exampleLines(t)
	cfg := pipeline.ReplayConfig{Policies: []string{examplePolicies}, AuditLog: []string{writeLog(t, lines[1100:])}}
	without := replayAll(t, cfg)
	cfg.AuditLog = []string{writeLog(t, lines)}
	if whole := replayAll(t, cfg); cmp.Equal(whole[len(whole)-len(without):], without) {
		t.Error("nothing hangs on the history: TestHistorySplit shows nothing")
	}
}

// TestHistoryKept: the verdicts are those that come of a history of everything, though a replay keeps only what its
// policies hang on, policy by policy too. Verify keeps everything.
func TestHistoryKept(t *testing.T) {
	notKept := 0
	for _, name := range []string{"", "op-connect-exec.yaml", "op-mc-user.yaml", "op-nsobj.yaml"} {
		given := filepath.Join(examplePolicies, name)
		cfg := pipeline.ReplayConfig{Minor: 37, Policies: []string{given}, Cluster: []string{exampleCluster}, AuditLog: []string{exampleLog}}
		var kept, everything []sink.Record
		cfg.Records = func(r *sink.Record) error { kept = append(kept, copied(r)); return nil }
		if _, err := pipeline.Replay(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		cfg.Records = func(r *sink.Record) error { everything = append(everything, copied(r)); return nil }
		if _, err := pipeline.Verify(t.Context(), cfg, func(pipeline.Disagreement) {}); err != nil {
			t.Fatal(err)
		}
		if len(kept) != len(everything) {
			t.Fatalf("%d records, want %d", len(kept), len(everything))
		}
		for i := range kept {
			if kept[i].Evidence["oldObject"].Because == "NotKept" {
				notKept++
			}
			if diff := cmp.Diff(everything[i].Evaluations, kept[i].Evaluations); diff != "" {
				t.Errorf("%s: request %s: -everything +kept\n%s", given, kept[i].AuditID, diff)
			}
		}
	}
	if notKept == 0 {
		t.Error("everything was kept: the test shows nothing")
	}
}

// TestHistoryErrors: what cannot be read or written is said before the log is read, and the old history stays.
func TestHistoryErrors(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("apiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ history, want string }{
		{broken, broken + ": this is no history: want a file that vapshadow wrote"},
		{filepath.Join(dir, "none", "history"), "no history can be written to " + filepath.Join(dir, "none", "history")},
		{dir, "opening the history: " + dir + " is a folder: name a file"},
	} {
		_, err := pipeline.Replay(t.Context(), pipeline.ReplayConfig{
			Minor: 37, Policies: []string{examplePolicies}, AuditLog: []string{exampleLog}, History: tt.history,
			Records: func(*sink.Record) error { t.Error("the log is read"); return nil },
		})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v %v", files, err)
	}
}

// TestHistoryKeptOnFailure: a replay that fails leaves the history as it was.
func TestHistoryKeptOnFailure(t *testing.T) {
	history := filepath.Join(t.TempDir(), "history")
	cfg := pipeline.ReplayConfig{Policies: []string{examplePolicies}, AuditLog: []string{exampleLog}, History: history}
	replayAll(t, cfg)
	before, err := os.ReadFile(history)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(history)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	cfg.Minor, cfg.Records = 37, func(*sink.Record) error { return io.ErrClosedPipe }
	if _, err := pipeline.Replay(t.Context(), cfg); err == nil {
		t.Fatal("no error")
	}
	after, err := os.ReadFile(history)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the history changed: %v", err)
	}
}

func replayAll(t *testing.T, cfg pipeline.ReplayConfig) []string {
	t.Helper()
	cfg.Minor = 37
	var out []string
	cfg.Records = func(r *sink.Record) error {
		line, err := json.Marshal(r)
		out = append(out, string(line))
		return err
	}
	if _, err := pipeline.Replay(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return out
}

// copied is a record that stays as it is.
func copied(r *sink.Record) sink.Record {
	out := *r
	out.Evaluations = slices.Clone(r.Evaluations)
	return out
}

func exampleLines(t *testing.T) [][]byte {
	t.Helper()
	f, err := os.Open(exampleLog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

func writeLog(t *testing.T, lines [][]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(name, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
