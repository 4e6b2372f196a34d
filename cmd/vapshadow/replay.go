package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/vapshadow/vapshadow/internal/config"
)

// replayOptions is a command line of "vapshadow replay", checked.
type replayOptions struct {
	Policies, Cluster, AuditLog []string
	// Since is inclusive, Until exclusive; zero: no bound.
	Since, Until time.Time
	Minor        int
	Unbound      bool
	Strict       bool
	ClusterName  string
	// TeamLabel is the label of Namespaces that names their team; empty: none.
	TeamLabel string
	Workers   int // at least 1
	// History is the file that holds the state of the cluster between runs; empty: none. HistoryBytes bounds the memory
	// that it takes; 0: no bound.
	History      string
	HistoryBytes int64
	// Store is the address of the database that gets the rows; empty: none.
	Store  string
	Output string
	// Progress is told how far the replay is; it may be called often, and from any goroutine.
	Progress func(bytesRead, bytesTotal, events int64)
}

// findings counts what --fail-on can name, over all evaluations.
type findings struct {
	fail, error, unknown, blocks int64
}

// replayFunc replays the log and writes the report to s.out. An input that could not be read is an error.
type replayFunc func(ctx context.Context, o replayOptions, s stdio) (findings, error)

// replayFlags holds the flags as they are given.
type replayFlags struct {
	options      replayOptions
	since, until moment
	minor        minorVersion
	historyBytes byteSize
	output       *enumerated
	failOn       *enumerated
	quiet        bool
}

func newReplayCommand(env environ, s stdio, replay replayFunc) *cobra.Command {
	f := &replayFlags{
		since: moment{now: time.Now},
		until: moment{now: time.Now},
		minor: newestMinor,

		historyBytes: 512 << 20,

		output: oneOf("table", slices.Concat([]string{"table", "wide", "json", "yaml", "jsonl"}, replayDocuments)...),
		failOn: someOf("fail", "error", "unknown", "blocks"),
	}
	cmd := &cobra.Command{
		Use:   "replay --audit-log FILE [--policies FILE] [--cluster FILE] [flags]",
		Short: "Evaluate policies on the requests of an audit log",
		Long: `Evaluate ValidatingAdmissionPolicies on every admission request of an audit log,
as though their bindings had been there when it was written.

Wherever a FILE is asked for, it may be a file, a folder, a quoted pattern, or - for
standard input. Gzip and zstd are recognised by content.`,
		Example: `  # Which requests of last week would the policies of a folder have stopped?
  vapshadow replay --policies policies/ --cluster cluster/ --audit-log /var/log/kubernetes/ --since 7d

  # What the report needs to know of the cluster, as kubectl writes it:
  kubectl get ns,crd,clusterroles,clusterrolebindings,roles,rolebindings -A -o yaml > cluster.yaml

  # One line of JSON a request, from standard input:
  zcat audit.log.gz | vapshadow replay --policies policy.yaml --audit-log - -o jsonl

  # Day by day: what the log of one day left behind is known the next.
  vapshadow replay --policies policies/ --audit-log today.log --history cluster.history

  # Into a database, for dashboards and reports:
  vapshadow replay --policies policies/ --cluster cluster/ --audit-log audit.log --store sqlite:vapshadow.db

  # In CI: fail when a policy would reject anything, or rejects it already in audit mode.
  vapshadow replay --policies policies/ --audit-log 'audit-*.log.gz' --fail-on fail,error,blocks`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), env, s, replay)
		},
	}
	f.addTo(cmd)
	return cmd
}

func (f *replayFlags) addTo(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.options
	flags.SortFlags = false // in the order of a person's questions
	flags.StringArrayVar(&o.AuditLog, "audit-log", nil, "`FILE` of audit events, JSON lines or EventLists; repeatable")
	flags.StringArrayVar(&o.Policies, "policies", nil, "`FILE` of policies, bindings and params to be tried; repeatable")
	flags.StringArrayVar(&o.Cluster, "cluster", nil, "`FILE` of objects as the cluster held them when the log began:\n"+
		"namespaces, params, CRDs, RBAC, policies; repeatable")
	flags.StringVar(&o.History, "history", "", "`FILE` that holds the state of the cluster from one log to the\n"+
		"next: read if it is there, written when the log is done")
	flags.StringVar(&o.Store, "store", "", "`URL` of a database that gets the rows too: postgres://… or\n"+
		"sqlite:FILE; the same log with the same policies counts once")
	flags.Var(&f.since, "since", "leave out events before this time, or this long ago")
	flags.Var(&f.until, "until", "leave out events at this time or after it, or this long ago")
	flags.Var(&f.minor, "kubernetes-version", fmt.Sprintf("the apiserver to be, 1.%d to 1.%d", oldestMinor, newestMinor))
	flags.BoolVar(&o.Unbound, "unbound", false, "evaluate policies without a binding too, as though bound to\n"+
		"everything with [Audit]")
	addEnumerated(cmd, f.output, "output", "o", "what to print: a summary; with jsonl each request as a line\n"+
		"of JSON; with html and those after it the document of\n\"vapshadow report\"")
	addEnumerated(cmd, f.failOn, "fail-on", "", "exit with 1 where there is one of these; blocks is a request\n"+
		"that is rejected whatever validationActions say;\n"+
		"repeatable, or separated by commas")
	flags.BoolVar(&o.Strict, "strict", false, "take a policy that is refused, or an event that cannot be\n"+
		"read, for an error (otherwise counted and reported)")
	flags.StringVar(&o.ClusterName, "cluster-name", "", "`NAME` to write to the cluster field of each record")
	flags.StringVar(&o.TeamLabel, "team-label", config.TeamLabel, "`LABEL` of namespaces that names the team that they belong to;\n"+
		"it is written to each record and row; empty is none")
	flags.IntVar(&o.Workers, "workers", 0, "how many requests to evaluate at once (default one a CPU)")
	flags.Var(&f.historyBytes, "history-bytes", "memory for earlier states of objects, about; the objects that\n"+
		"were not written or looked at longest go first; 0 is no bound")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")

	addCompletion(cmd, "kubernetes-version", cobra.FixedCompletions(minorVersions(), cobra.ShellCompDirectiveNoFileComp))
}

// check completes the options, or says what is wrong with the command line as a whole.
func (f *replayFlags) check(cmd *cobra.Command) error {
	o := &f.options
	if len(o.AuditLog) == 0 {
		return wrongUsage(cmd, "--audit-log is missing: name the log to replay, or - for standard input")
	}
	if len(o.Policies) == 0 && len(o.Cluster) == 0 && o.History == "" {
		return wrongUsage(cmd, "there are no policies to evaluate: name their files with --policies, or a cluster's own with --cluster")
	}
	if o.History == "-" {
		return wrongUsage(cmd, "--history - : the history is read and written, which standard input cannot be: name a file")
	}
	if countStdin(o.AuditLog, o.Policies, o.Cluster) > 1 {
		return wrongUsage(cmd, "standard input (-) can be read only once: put the other inputs into files")
	}
	o.Since, o.Until = f.since.time, f.until.time
	if !o.Since.IsZero() && !o.Until.IsZero() && !o.Since.Before(o.Until) {
		return wrongUsage(cmd, "--since %s is not before --until %s: no event can be between them", &f.since, &f.until)
	}
	if !cmd.Flags().Changed("workers") {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Workers < 1 {
		return wrongUsage(cmd, "--workers is %d: at least 1 is needed", o.Workers)
	}
	if o.TeamLabel != "" && !config.IsLabelKey(o.TeamLabel) {
		return wrongUsage(cmd, "--team-label %q is no key of a label: give one such as team or example.com/team", o.TeamLabel)
	}
	if o.Store != "" && slices.Contains(replayDocuments, f.output.value) {
		return wrongUsage(cmd, "--store does not go with -o %s, which is about this log alone: run `vapshadow report --store … -o %s` afterwards",
			f.output.value, f.output.value)
	}
	o.Minor, o.Output, o.HistoryBytes = int(f.minor), f.output.value, int64(f.historyBytes)
	return nil
}

func (f *replayFlags) run(ctx context.Context, env environ, s stdio, replay replayFunc) error {
	line := newProgress(f.progressTerminal(env, s), time.Now)
	f.options.Progress = line.update
	s.out, s.err = line.around(s.out), line.around(s.err)
	found, err := replay(ctx, f.options, s)
	line.clear()
	if err != nil {
		return err
	}
	if found.any(f.failOn.values) {
		return errFound
	}
	return nil
}

func (n findings) any(of []string) bool {
	counts := map[string]int64{"fail": n.fail, "error": n.error, "unknown": n.unknown, "blocks": n.blocks}
	for _, name := range of {
		if counts[name] > 0 {
			return true
		}
	}
	return false
}

func countStdin(inputs ...[]string) int {
	n := 0
	for _, files := range inputs {
		for _, file := range files {
			if file == "-" {
				n++
			}
		}
	}
	return n
}
