package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/sink/connect"
)

func newConfigCommand(s stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check a configuration, or show one",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "check FILE",
			Short: "Say what is wrong with a configuration",
			Long: `Say all that is wrong with a configuration: fields that are not known, values that
cannot be, environment variables that are not set. Nothing is connected to.`,
			Example: "  vapshadow config check vapshadow.yaml",
			Args:    oneFile,
			RunE: func(cmd *cobra.Command, args []string) error {
				c, err := config.Load(args[0], os.LookupEnv)
				if err != nil {
					return err
				}
				if _, err := minorOf(c); err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				_, err = fmt.Fprintf(s.out, "%s is good: %d sources into %s\n", args[0], len(c.Sources), connect.Redact(c.Store))
				return err
			},
		},
		&cobra.Command{
			Use:     "example",
			Short:   "Print a configuration with all fields, each explained",
			Example: "  vapshadow config example > vapshadow.yaml",
			Args:    noArguments,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprint(s.out, config.Example)
				return err
			},
		},
	)
	return cmd
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return wrongUsage(cmd, "name one file, not %d", len(args))
	}
	return nil
}
