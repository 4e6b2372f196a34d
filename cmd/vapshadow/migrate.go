package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
)

func newMigrateCommand(s stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make the tables of a database, and bring them up to date",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMigrateUpCommand(s), newMigrateStatusCommand(s))
	return cmd
}

func newMigrateUpCommand(s stdio) *cobra.Command {
	var store string
	var writers, readers []string
	cmd := &cobra.Command{
		Use:   "up --store URL [flags]",
		Short: "Bring a database up to date",
		Long: `Make what a database lacks of tables, views and functions. It can be run again at any
time, and two at once do no harm: one waits for the other.

In Postgres the role of the URL owns what is made. Services and readers are best given
roles of their own: name them, and they are granted what they need, and no more.`,
		Example: `  vapshadow migrate up --store postgres://owner@db/vapshadow --writer vapshadow --reader grafana`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			applied, err := connect.Migrate(cmd.Context(), store)
			if err != nil {
				return err
			}
			for _, m := range applied {
				if _, err := fmt.Fprintf(s.out, "applied %d %s\n", m.Version, m.Name); err != nil {
					return err
				}
			}
			if len(applied) == 0 {
				if _, err := fmt.Fprintln(s.out, "nothing to do: the database is up to date"); err != nil {
					return err
				}
			}
			if len(writers)+len(readers) == 0 {
				return nil
			}
			return connect.Grant(cmd.Context(), store, writers, readers)
		},
	}
	cmd.Flags().StringVar(&store, "store", "sqlite:vapshadow.db", "`URL` of the database: postgres://… or sqlite:FILE")
	cmd.Flags().StringArrayVar(&writers, "writer", nil, "`ROLE` that may write rows, as a service does; repeatable (Postgres)")
	cmd.Flags().StringArrayVar(&readers, "reader", nil, "`ROLE` that may read the views, as Grafana does; repeatable (Postgres)")
	return cmd
}

func newMigrateStatusCommand(s stdio) *cobra.Command {
	var store string
	output := oneOf("table", "table", "json")
	cmd := &cobra.Command{
		Use:     "status --store URL [flags]",
		Short:   "Show which migrations a database has",
		Long:    "Show which migrations a database has. Exits with 1 where one is missing.",
		Example: `  vapshadow migrate status --store postgres://owner@db/vapshadow`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			migrations, err := connect.Status(cmd.Context(), store)
			if err != nil {
				return err
			}
			if err := writeMigrations(s.out, migrations, output.value); err != nil {
				return fmt.Errorf("writing the status: %w", err)
			}
			for _, m := range migrations {
				if !m.Applied {
					return errFound
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&store, "store", "sqlite:vapshadow.db", "`URL` of the database: postgres://… or sqlite:FILE")
	addEnumerated(cmd, output, "output", "o", "how to print it")
	return cmd
}

func writeMigrations(w io.Writer, migrations []sink.Migration, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(migrations)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "VERSION\tNAME\tAPPLIED")
	for _, m := range migrations {
		at := "no"
		if m.Applied {
			at = m.At.UTC().Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(t, "%d\t%s\t%s\n", m.Version, m.Name, at)
	}
	return t.Flush()
}
