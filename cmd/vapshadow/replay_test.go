package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// replayWith runs "replay" with args on a pipeline that does work, and gives the exit code and what was printed.
func replayWith(t *testing.T, ctx context.Context, work replayFunc, args ...string) (code int, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	s := stdio{in: strings.NewReader(""), out: &out, err: &errs}
	root := newRootCommand(func(string) string { return "" }, s, work)
	code = execute(ctx, root, append([]string{"replay"}, args...), s)
	return code, errs.String()
}

func TestReplayOptions(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	tests := []struct {
		name string
		args []string
		want replayOptions
	}{
		{
			name: "defaults",
			args: []string{"--audit-log=a.log", "--policies=p.yaml"},
			want: replayOptions{
				AuditLog: []string{"a.log"}, Policies: []string{"p.yaml"},
				Minor: 37, HistoryBytes: 512 << 20, Output: "table", Workers: runtime.GOMAXPROCS(0), TeamLabel: "team",
			},
		},
		{
			name: "files repeat, and commas are part of their names",
			args: []string{"--audit-log=a,b.log", "--audit-log=-", "--policies=p", "--policies=q", "--cluster=c", "--cluster=d"},
			want: replayOptions{
				AuditLog: []string{"a,b.log", "-"}, Policies: []string{"p", "q"}, Cluster: []string{"c", "d"},
				Minor: 37, HistoryBytes: 512 << 20, Output: "table", Workers: runtime.GOMAXPROCS(0), TeamLabel: "team",
			},
		},
		{
			name: "a cluster's own policies are enough",
			args: []string{"--audit-log=a.log", "--cluster=c", "-o=jsonl", "--kubernetes-version=v1.33.4-gke.100", "--workers=3", "--unbound", "--strict", "--cluster-name=prod", "--team-label=example.com/owner"},
			want: replayOptions{
				AuditLog: []string{"a.log"}, Cluster: []string{"c"},
				Minor: 33, Output: "jsonl", HistoryBytes: 512 << 20, Workers: 3, Unbound: true, Strict: true, ClusterName: "prod", TeamLabel: "example.com/owner",
			},
		},
		{
			name: "a time and a duration ago",
			args: []string{"--audit-log=a.log", "--policies=p", "--since=2026-11-21T06:00:00+01:00", "--until=90m"},
			want: replayOptions{
				AuditLog: []string{"a.log"}, Policies: []string{"p"},
				Since: time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC), Until: ago(90 * time.Minute),
				Minor: 37, HistoryBytes: 512 << 20, Output: "table", Workers: runtime.GOMAXPROCS(0), TeamLabel: "team",
			},
		},
		{
			name: "days ago",
			args: []string{"--audit-log=a.log", "--policies=p", "--since=7d"},
			want: replayOptions{
				AuditLog: []string{"a.log"}, Policies: []string{"p"}, Since: ago(7 * 24 * time.Hour),
				Minor: 37, HistoryBytes: 512 << 20, Output: "table", Workers: runtime.GOMAXPROCS(0), TeamLabel: "team",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got replayOptions
			code, stderr := replayWith(t, t.Context(), func(_ context.Context, o replayOptions, _ stdio) (findings, error) {
				got = o
				return findings{}, nil
			}, test.args...)
			if code != exitDone || stderr != "" {
				t.Fatalf("exit code %d, stderr %q", code, stderr)
			}
			if got.Progress == nil {
				t.Error("Progress is nil; the pipeline may call it")
			}
			ignore := cmpopts.IgnoreFields(replayOptions{}, "Progress")
			if diff := cmp.Diff(test.want, got, ignore, cmpopts.EquateApproxTime(time.Minute)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReplayExitCode(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name   string
		ctx    context.Context
		failOn string
		found  findings
		err    error
		want   int
		stderr string
	}{
		{name: "nothing found", failOn: "fail,error,unknown,blocks", want: exitDone},
		{name: "found what is not asked for", failOn: "error,blocks", found: findings{fail: 3, unknown: 1}, want: exitDone},
		{name: "fail", failOn: "fail", found: findings{fail: 1}, want: exitFound},
		{name: "error", failOn: "fail,error", found: findings{error: 1}, want: exitFound},
		{name: "unknown", failOn: "unknown", found: findings{unknown: 1}, want: exitFound},
		{name: "blocks", failOn: "fail,blocks", found: findings{blocks: 1}, want: exitFound},
		{
			name: "unreadable input", failOn: "fail", found: findings{fail: 1},
			err:  fmt.Errorf("opening audit log: %w", &fs.PathError{Op: "open", Path: "a.log", Err: fs.ErrNotExist}),
			want: exitUnreadable, stderr: "vapshadow: opening audit log: open a.log: file does not exist\n",
		},
		{
			name: "interrupted", ctx: canceled, failOn: "fail",
			err:  fmt.Errorf("reading a.log: %w", context.Canceled),
			want: exitInterrupted, stderr: "vapshadow: " + errInterrupted.Error() + "\n",
		},
		{
			name: "a failure while being interrupted is still told", ctx: canceled, failOn: "fail",
			err: errors.New("disk full"), want: exitUnreadable, stderr: "vapshadow: disk full\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.ctx == nil {
				test.ctx = t.Context()
			}
			work := func(context.Context, replayOptions, stdio) (findings, error) { return test.found, test.err }
			code, stderr := replayWith(t, test.ctx, work, "--audit-log=a.log", "--policies=p", "--fail-on="+test.failOn)
			if code != test.want || stderr != test.stderr {
				t.Errorf("exit code %d, stderr %q; want %d, %q", code, stderr, test.want, test.stderr)
			}
		})
	}
}
