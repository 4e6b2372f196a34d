package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vapshadow/vapshadow/dashboards/report"
)

// verifyFlags holds the flags as they are given. What "replay" asks too means the same here.
type verifyFlags struct {
	replayFlags
	show int
}

func newVerifyCommand(env environ, s stdio) *cobra.Command {
	f := &verifyFlags{replayFlags: replayFlags{
		since:  moment{now: time.Now},
		until:  moment{now: time.Now},
		minor:  newestMinor,
		output: oneOf("table", "table", "json", "yaml"),
		failOn: someOf(),
	}}
	cmd := &cobra.Command{
		Use:   "verify --audit-log FILE [--cluster FILE] [--policies FILE] [flags]",
		Short: "Compare vapshadow's decisions with those that the apiserver recorded",
		Long: `Compare each decision that the apiserver itself recorded in the audit log with
vapshadow's own: the failures of policies that were bound with Audit, rejections,
and audit annotations. The log has to be of a cluster on which policies were bound.

Without --policies, policies and bindings are those of --cluster, and what the log
shows to have become of them.

Exit codes:
  0    the two agree, and something was compared
  1    they disagree
  2    the command line is wrong
  3    an input could not be read, or nothing could be compared`,
		Example: `  # On a cluster whose policies are bound as they are in the snapshot:
  kubectl get ns,crd,clusterroles,clusterrolebindings,roles,rolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings -A -o yaml > cluster.yaml
  vapshadow verify --cluster cluster.yaml --audit-log audit.log --kubernetes-version 1.36

  # With policies from files, which were bound when the log was written:
  vapshadow verify --policies policies/ --cluster cluster/ --audit-log audit.log.gz

  # Kept, for the pages, dashboards and reports:
  vapshadow verify --cluster cluster.yaml --audit-log audit.log --store "$VAPSHADOW_STORE" --cluster-name prod`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), env, s)
		},
	}
	f.addTo(cmd)
	return cmd
}

func (f *verifyFlags) addTo(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.options
	flags.SortFlags = false // in the order of a person's questions
	flags.StringArrayVar(&o.AuditLog, "audit-log", nil, "`FILE` of audit events, JSON lines or EventLists; repeatable")
	flags.StringArrayVar(&o.Cluster, "cluster", nil, "`FILE` of objects as the cluster held them when the log began:\n"+
		"policies, bindings, namespaces, params, CRDs, RBAC; repeatable")
	flags.StringArrayVar(&o.Policies, "policies", nil, "`FILE` of the policies and bindings that were there, instead of\n"+
		"those of the cluster and the log; repeatable")
	flags.StringVar(&o.History, "history", "", "`FILE` that an earlier replay wrote with --history: what the\n"+
		"cluster was before the log; only read")
	flags.StringVar(&o.Store, "store", "", "`URL` of a database that gets the outcome too, without content of\n"+
		"objects: postgres://… or sqlite:FILE; the same comparison\ncounts once")
	flags.StringVar(&o.ClusterName, "cluster-name", "", "`NAME` of the cluster in the database, as in serve and replay")
	flags.Var(&f.since, "since", "leave out events before this time, or this long ago")
	flags.Var(&f.until, "until", "leave out events at this time or after it, or this long ago")
	flags.Var(&f.minor, "kubernetes-version", fmt.Sprintf("the apiserver that wrote the log, 1.%d to 1.%d", oldestMinor, newestMinor))
	addEnumerated(cmd, f.output, "output", "o", "how to print the comparison")
	flags.IntVar(&f.show, "show", 20, "how many disagreements to print; the rest is counted")
	flags.IntVar(&o.Workers, "workers", 0, "how many requests to evaluate at once (default one a CPU)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")

	addCompletion(cmd, "kubernetes-version", cobra.FixedCompletions(minorVersions(), cobra.ShellCompDirectiveNoFileComp))
}

func (f *verifyFlags) check(cmd *cobra.Command) error {
	if f.show < 0 {
		return wrongUsage(cmd, "--show is %d: at least 0 is needed", f.show)
	}
	return f.replayFlags.check(cmd)
}

func (f *verifyFlags) run(ctx context.Context, env environ, s stdio) error {
	line := newProgress(f.progressTerminal(env, s), time.Now)
	f.options.Progress = line.update
	s.out, s.err = line.around(s.out), line.around(s.err)
	agreement, err := verify(ctx, f.options, f.show, s)
	line.clear()
	if err != nil {
		return err
	}
	if err := f.write(s, agreement); err != nil {
		return err
	}
	if why := agreement.Nothing(); why != "" {
		return fmt.Errorf("nothing could be compared: %s", why)
	}
	if agreement.Disagreed() {
		return errFound
	}
	return nil
}

func (f *verifyFlags) write(s stdio, a *report.Agreement) error {
	switch f.output.value {
	case "json":
		return report.WriteAgreementJSON(s.out, a)
	case "yaml":
		return report.WriteAgreementYAML(s.out, a)
	default:
		return report.WriteAgreement(s.out, a)
	}
}
