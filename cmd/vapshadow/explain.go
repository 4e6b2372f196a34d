package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/dashboards/report"
	"github.com/vapshadow/vapshadow/internal/pipeline"
)

// explainFlags is a command line of "vapshadow explain".
type explainFlags struct {
	auditID           string
	auditLog, cluster []string
	policies, named   []string
	minor             minorVersion
	unbound           bool
	noObjects         bool
	history           string
	output            *enumerated
}

func newExplainCommand(s stdio) *cobra.Command {
	f := &explainFlags{minor: newestMinor, output: oneOf("text", "text", "json", "yaml")}
	cmd := &cobra.Command{
		Use:   "explain --audit-id ID --audit-log FILE [--policies FILE] [--cluster FILE] [flags]",
		Short: "Tell how one request was rebuilt, and how each policy came to its verdict on it",
		Long: `Find one request in an audit log by its audit ID, and tell how each policy came to its
verdict on it: what of the request is known and how, which selectors and rules match, what
each match condition, variable and validation came to and cost, and what to supply or to
log where the verdict is Unknown.

The objects are shown too. In a Secret, the values of data, stringData and kubectl's
last-applied-configuration are masked, and so is an issued token; where a policy reads a
Secret, only the type and the size of what its expressions come to is shown. Messages and
audit annotations are shown as the apiserver would write them. --no-objects leaves the
objects out.

Wherever a FILE is asked for, it may be a file, a folder, a quoted pattern, or - for
standard input. Gzip and zstd are recognised by content.`,
		Example: `  vapshadow explain --audit-id 9acb6fd8-8b67-4d6a-9a4a-6c2f0d8f6b1e \
    --audit-log audit.log.gz --policies policies/ --cluster cluster/`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), s)
		},
	}
	f.addTo(cmd)
	return cmd
}

func (f *explainFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false // in the order of a person's questions
	flags.StringVar(&f.auditID, "audit-id", "", "`ID` of the request: auditID of its event, as reports name it")
	flags.StringArrayVar(&f.auditLog, "audit-log", nil, "`FILE` of audit events, JSON lines or EventLists; repeatable")
	flags.StringArrayVar(&f.policies, "policies", nil, "`FILE` of policies, bindings and params to be tried; repeatable")
	flags.StringArrayVar(&f.cluster, "cluster", nil, "`FILE` of objects as the cluster held them when the log began:\n"+
		"namespaces, params, CRDs, RBAC, policies; repeatable")
	flags.StringVar(&f.history, "history", "", "`FILE` that an earlier replay wrote with --history: what the\n"+
		"cluster was before the log; only read")
	flags.StringArrayVar(&f.named, "policy", nil, "tell of the policy of this `NAME` only; repeatable")
	flags.Var(&f.minor, "kubernetes-version", fmt.Sprintf("the apiserver to be, 1.%d to 1.%d", oldestMinor, newestMinor))
	flags.BoolVar(&f.unbound, "unbound", false, "evaluate policies without a binding too, as though bound to\n"+
		"everything with [Audit]")
	flags.BoolVar(&f.noObjects, "no-objects", false, "leave the objects out")
	addEnumerated(cmd, f.output, "output", "o", "what to print")

	addCompletion(cmd, "kubernetes-version", cobra.FixedCompletions(minorVersions(), cobra.ShellCompDirectiveNoFileComp))
}

// check says what is wrong with the command line as a whole.
func (f *explainFlags) check(cmd *cobra.Command) error {
	switch {
	case f.auditID == "":
		return wrongUsage(cmd, "--audit-id is missing: name the request by the auditID of its event")
	case len(f.auditLog) == 0:
		return wrongUsage(cmd, "--audit-log is missing: name the log that holds the request, or - for standard input")
	case len(f.policies) == 0 && len(f.cluster) == 0 && f.history == "":
		return wrongUsage(cmd, "there are no policies to evaluate: name their files with --policies, or a cluster's own with --cluster")
	case countStdin(f.auditLog, f.policies, f.cluster) > 1:
		return wrongUsage(cmd, "standard input (-) can be read only once: put the other inputs into files")
	}
	return nil
}

func (f *explainFlags) run(ctx context.Context, s stdio) error {
	x, err := pipeline.Explain(ctx, pipeline.ReplayConfig{
		Policies: f.policies, Cluster: f.cluster, AuditLog: f.auditLog, Stdin: s.in, Minor: int(f.minor), Unbound: f.unbound, History: f.history,
		Skips: newSkipLog(s.err).add,
	}, f.auditID)
	if err != nil {
		return err
	}
	if len(f.named) > 0 {
		if err := x.Only(f.named); err != nil {
			return err
		}
	}
	if f.noObjects {
		for i := range x.Requests {
			x.Requests[i].Object, x.Requests[i].OldObject = nil, nil
		}
	}
	w := bufio.NewWriter(s.out)
	if err := f.write(w, x); err != nil {
		return fmt.Errorf("writing the explanation: %w", err)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the explanation: %w", err)
	}
	return nil
}

func (f *explainFlags) write(w io.Writer, x *pipeline.Explained) error {
	if f.output.value == "text" {
		o := &report.Outline{}
		explanation{Outline: o, objects: !f.noObjects, told: map[string]bool{}}.all(x)
		_, err := o.WriteTo(w)
		return err
	}
	if f.output.value == "yaml" {
		out, err := yaml.Marshal(x)
		if err != nil {
			return err
		}
		_, err = w.Write(out)
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(x)
}
