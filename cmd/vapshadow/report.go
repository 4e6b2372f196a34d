package main

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vapshadow/vapshadow/dashboards/report/document"
	"github.com/vapshadow/vapshadow/dashboards/report/exception"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
)

// evidenceFlags say which part of a store a command looks at, and how much evidence it asks for.
type evidenceFlags struct {
	store                    string
	cluster, policy, binding string
	from, to, now            moment
	days                     int
	coverage                 float64
	exceptions               string
	// team is asked for by reports only: a plan for the requests of one team would deny those of others.
	team string
}

func (f *evidenceFlags) addTo(cmd *cobra.Command) {
	f.from.now, f.to.now, f.now.now = time.Now, time.Now, time.Now
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.store, "store", "sqlite:vapshadow.db", "`URL` of the database: postgres://… or sqlite:FILE")
	flags.StringVar(&f.cluster, "cluster", "", "`NAME` of the cluster (default all)")
	flags.StringVar(&f.policy, "policy", "", "`NAME` of the policy (default all)")
	flags.StringVar(&f.binding, "binding", "", "`NAME` of the binding (default all)")
	flags.Var(&f.from, "from", "leave out what happened before this minute, or this long ago")
	flags.Var(&f.to, "to", "leave out what happened in this minute or after it, or this long ago")
	flags.Var(&f.now, "now", "what fails in the 24 hours before this time is failing now\n(default the end of the data)")
	flags.IntVar(&f.days, "days", 7, "the days that have to be observed for a policy to be ready")
	flags.StringVar(&f.exceptions, "exceptions", "", "`FILE` of failures that were accepted, by whom and until when;\n"+
		"they are told beside the failures, and change no verdict")
	flags.Float64Var(&f.coverage, "coverage", 99, "the percentage that has to be decided for a policy to be ready")
}

// options checks the flags.
func (f *evidenceFlags) options(cmd *cobra.Command) (document.Options, error) {
	o := document.Options{
		Filter:   sink.Filter{Cluster: f.cluster, Policy: f.policy, Binding: f.binding, Team: f.team, Since: f.from.time.UTC(), Until: f.to.time.UTC()},
		Criteria: criteria(f.days, f.coverage, f.now.time.UTC()),
		Versions: documentVersions(),
	}
	switch {
	case f.days < 0:
		return o, wrongUsage(cmd, "--days is %d: 0 asks for none", f.days)
	case !(f.coverage >= 0 && f.coverage <= 100):
		return o, wrongUsage(cmd, "--coverage is %g: it is a percentage, from 0 to 100", f.coverage)
	case !o.Filter.Since.IsZero() && !o.Filter.Until.IsZero() && !o.Filter.Since.Before(o.Filter.Until):
		return o, wrongUsage(cmd, "--from %s is not before --to %s: nothing can be between them", &f.from, &f.to)
	}
	if f.exceptions == "" {
		return o, nil
	}
	var err error
	o.Exceptions, err = exception.Load(f.exceptions)
	return o, err
}

// criteria are those of flags, where 0 asks for nothing.
func criteria(days int, coverage float64, now time.Time) sink.Criteria {
	c := sink.Criteria{Days: days, Coverage: coverage, Now: now}
	if days == 0 {
		c.Days = -1
	}
	if coverage == 0 {
		c.Coverage = -1
	}
	return c
}

func documentVersions() document.Versions {
	v := readVersion()
	return document.Versions{Vapshadow: v.Version, Apiserver: v.Apiserver, CEL: v.CEL}
}

func newReportCommand(s stdio) *cobra.Command {
	var f evidenceFlags
	output := oneOf("table", document.Formats...)
	cmd := &cobra.Command{
		Use:   "report --store URL [flags]",
		Short: "Report which policies may be enforced, and whom they would hit",
		Long: `Report of each binding of each policy whether it may be enforced: how much was seen
and decided, what would have failed, whose it is, and what is still lacking.

The same data gives the same bytes: nothing in the report says when it was made.`,
		Example: `  vapshadow report --store sqlite:vapshadow.db
  vapshadow report --store "$VAPSHADOW_STORE" --from 14d -o html > readiness.html

  # For an auditor: what was accepted, by whom, until when; and what has expired.
  vapshadow report --store "$VAPSHADOW_STORE" --to 2027-01-01T00:00:00Z --exceptions exceptions.yaml -o html > audit.html

  # As objects of a cluster, for the tools that show those:
  vapshadow report --store "$VAPSHADOW_STORE" --cluster prod -o openreports | kubectl apply -f -`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := f.options(cmd)
			if err != nil {
				return err
			}
			db, err := connect.Open(cmd.Context(), f.store)
			if err != nil {
				return err
			}
			defer func() { _ = db.Close() }() // It was only read.
			return writeDocument(cmd.Context(), s, db, options, output.value)
		},
	}
	f.addTo(cmd)
	cmd.Flags().StringVar(&f.team, "team", "", "`NAME` of the team, as the label of its namespaces says it\n(default all)")
	addEnumerated(cmd, output, "output", "o", "what to write")
	return cmd
}

func writeDocument(ctx context.Context, s stdio, r sink.Reader, o document.Options, output string) error {
	d, err := document.Build(ctx, r, o)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(s.out, 1<<16)
	if err := document.Write(w, output, d); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
