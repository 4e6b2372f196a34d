package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/vapshadow/vapshadow/internal/config"
)

// serveFlags holds the flags as they are given.
type serveFlags struct {
	file      string
	auditLogs []string
	policies  []string
	cluster   []string
	name      string
	store     string
	listen    string
	minor     minorVersion
	retention time.Duration
	teamLabel string
}

func newServeCommand(s stdio) *cobra.Command {
	f := &serveFlags{minor: newestMinor}
	cmd := &cobra.Command{
		Use:   "serve {--config FILE | --audit-log FILE --policies FILE} [flags]",
		Short: "Follow audit logs, topics and webhooks, and store whom policies would stop",
		Long: `Follow audit logs, Kafka topics and audit webhooks, evaluate the policies on each
admission request as it comes, and store what would have failed.

Each event counts once, through restarts, redeliveries and rebalances: how far each
source is, is stored in the same transaction as what came of it. Any number of
processes with the same configuration share the partitions of a topic.

Without --config, audit logs are followed into a SQLite file beside you. SIGHUP looks at
the policies again at once; SIGTERM ends in good order.`,
		Example: `  # Follow the log of this control plane into vapshadow.db:
  vapshadow serve --audit-log /var/log/kubernetes/audit.log --policies policies/

  # All that can be configured, with what each field means:
  vapshadow config example > vapshadow.yaml
  vapshadow serve --config vapshadow.yaml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.config(cmd)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), c, s)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false // in the order of a person's questions
	flags.StringVar(&f.file, "config", "", "`FILE` with the whole configuration; the other flags change what it says")
	flags.StringArrayVar(&f.auditLogs, "audit-log", nil, "`FILE` to follow, through its rotation; repeatable")
	flags.StringArrayVar(&f.policies, "policies", nil, "`FILE` of policies and bindings, looked at again as they change; repeatable")
	flags.StringArrayVar(&f.cluster, "cluster", nil, "`FILE` of objects as the cluster held them when the log began; repeatable")
	flags.StringVar(&f.name, "cluster-name", "", "`NAME` of the cluster")
	flags.StringVar(&f.store, "store", "", "`URL` of the database: postgres://… or sqlite:FILE (default sqlite:vapshadow.db)")
	flags.Var(&f.minor, "kubernetes-version", fmt.Sprintf("the apiserver to be, 1.%d to 1.%d", oldestMinor, newestMinor))
	flags.StringVar(&f.teamLabel, "team-label", "", "`LABEL` of namespaces that names their team (default team)")
	flags.StringVar(&f.listen, "listen", "", "`ADDRESS` of the pages, /metrics, /healthz and /readyz (default\n"+
		"127.0.0.1:9080)")
	flags.DurationVar(&f.retention, "retention", 0, "how long rows are kept, such as 2160h; 0 is for ever")
	addCompletion(cmd, "kubernetes-version", cobra.FixedCompletions(minorVersions(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// config is what the file says, changed by the flags.
func (f *serveFlags) config(cmd *cobra.Command) (*config.Config, error) {
	c := config.Default()
	if f.file != "" {
		loaded, err := config.Load(f.file, os.LookupEnv)
		if err != nil {
			return nil, err
		}
		c = loaded
	} else if len(f.auditLogs) == 0 {
		return nil, wrongUsage(cmd, "there is nothing to follow: name an audit log with --audit-log, or a configuration with --config")
	}
	if len(f.auditLogs) > 0 {
		c.Sources = append(c.Sources, config.Source{Name: "audit-log", Cluster: f.name, File: &config.File{Paths: f.auditLogs}})
	}
	if len(f.cluster) > 0 {
		c.Clusters = append(c.Clusters, config.Cluster{Name: f.name, Snapshot: f.cluster})
	}
	if len(f.policies) > 0 {
		c.Policies = f.policies
	}
	changed := cmd.Flags().Changed
	if changed("store") {
		c.Store = f.store
	}
	if changed("listen") {
		c.Listen = f.listen
	}
	if changed("team-label") {
		c.TeamLabel = f.teamLabel
	}
	if changed("retention") {
		c.Retention = f.retention
	}
	if changed("kubernetes-version") || c.KubernetesVersion == "" {
		c.KubernetesVersion = f.minor.String()
	}
	return c, c.Check()
}

// minorOf is the minor of a configuration's apiserver.
func minorOf(c *config.Config) (int, error) {
	if c.KubernetesVersion == "" {
		return newestMinor, nil
	}
	m := minorVersion(newestMinor)
	if err := m.Set(c.KubernetesVersion); err != nil {
		return 0, fmt.Errorf("kubernetesVersion: %w", err)
	}
	return int(m), nil
}
