package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/internal/pipeline"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
)

func newDeadLettersCommand(s stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead-letters",
		Short: "List what may have been an event and could not be used, and try it again",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDeadLettersListCommand(s), newDeadLettersRetryCommand(s))
	return cmd
}

func newDeadLettersListCommand(s stdio) *cobra.Command {
	var store string
	var filter sink.Filter
	output := oneOf("table", "table", "json")
	cmd := &cobra.Command{
		Use:   "list --store URL [flags]",
		Short: "List the dead letters",
		Long: `List the pieces of input that may have been events and could not be used: where each
stood, and why it could not be used. What was in it is not stored.`,
		Example: `  vapshadow dead-letters list --store sqlite:vapshadow.db --source kafka`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			db, err := connect.Open(cmd.Context(), store)
			if err != nil {
				return err
			}
			defer func() { _ = db.Close() }() // It was only read.
			letters, err := readLetters(cmd.Context(), db, filter)
			if err != nil {
				return err
			}
			if err := writeLetters(s.out, letters, output.value); err != nil {
				return fmt.Errorf("writing the dead letters: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&store, "store", "sqlite:vapshadow.db", "`URL` of the database: postgres://… or sqlite:FILE")
	addLetterFilter(cmd, &filter)
	addEnumerated(cmd, output, "output", "o", "how to print them")
	return cmd
}

func addLetterFilter(cmd *cobra.Command, filter *sink.Filter) {
	cmd.Flags().StringVar(&filter.Source, "source", "", "`NAME` of a source: leave out those of others")
	cmd.Flags().StringVar(&filter.Partition, "partition", "", "`NAME` of a partition: leave out those of others")
}

func readLetters(ctx context.Context, db sink.Reader, filter sink.Filter) ([]sink.DeadLetter, error) {
	letters := []sink.DeadLetter{}
	for letter, err := range db.DeadLetters(ctx, filter) {
		if err != nil {
			return nil, err
		}
		letters = append(letters, letter)
	}
	return letters, nil
}

func writeLetters(w io.Writer, letters []sink.DeadLetter, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(letters)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "SOURCE\tPARTITION\tBEFORE\tCLUSTER\tREASON\tFOUND\tDETAIL")
	for _, l := range letters {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Source, l.Partition, markOf(l), l.Cluster, l.Reason, l.At.UTC().Format(time.RFC3339), l.Detail)
	}
	return t.Flush()
}

// markOf is where a dead letter ends.
func markOf(l sink.DeadLetter) string {
	if l.Mark.Generation > 0 {
		return fmt.Sprintf("%d/%d", l.Mark.Generation, l.Mark.Offset)
	}
	return fmt.Sprint(l.Mark.Offset)
}

func newDeadLettersRetryCommand(s stdio) *cobra.Command {
	var file string
	var filter sink.Filter
	cmd := &cobra.Command{
		Use:   "retry --config FILE [flags]",
		Short: "Read the entries of dead letters again, and evaluate what can be used by now",
		Long: `Read the entries of dead letters again from their sources, after an upgrade or with
larger limits, and evaluate what can be used by now. What can is a dead letter no more.

Exit codes:
  0    none is left of those that were tried
  1    some are left
  3    the store could not be read or written`,
		Example: `  vapshadow dead-letters retry --config vapshadow.yaml --source kafka`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return wrongUsage(cmd, "--config is missing: it names the store, the sources and the policies")
			}
			c, err := config.Load(file, os.LookupEnv)
			if err != nil {
				return err
			}
			return retryLetters(cmd.Context(), c, filter, s)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "`FILE` with the configuration of the service")
	addLetterFilter(cmd, &filter)
	return cmd
}

func retryLetters(ctx context.Context, c *config.Config, filter sink.Filter, s stdio) (err error) {
	minor, err := minorOf(c)
	if err != nil {
		return err
	}
	log := newLogger(c.Log, s.err)
	store, err := openStore(ctx, c.Store, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	letters, err := readLetters(ctx, store, filter)
	if err != nil {
		return err
	}
	cfg := serveConfig(c, minor, log)
	cfg.Store = store
	// A webhook cannot be read again, and its port is the service's.
	again := slices.DeleteFunc(slices.Clone(c.Sources), func(source config.Source) bool { return source.Webhook != nil })
	if cfg.Sources, err = openSources(again, c.ShutdownTimeout, log); err != nil {
		return err
	}
	if cfg.Policies, err = openPolicies(c, minor, log); err != nil {
		return err
	}
	left := 0
	err = pipeline.Retry(ctx, cfg, letters, func(r pipeline.Retried) {
		text := fmt.Sprintf("evaluated, %d admission requests", r.Requests)
		if r.Err != nil {
			left++
			text = "left: " + r.Err.Error()
		}
		_, _ = fmt.Fprintf(s.out, "%s %s before %s: %s\n", r.Letter.Source, r.Letter.Partition, markOf(r.Letter), text)
	})
	if err == nil && left > 0 {
		return errFound
	}
	return err
}
