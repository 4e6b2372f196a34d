package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// stdio is where a command reads and writes, so that a test can drive the whole program.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// environ looks up an environment variable; it is empty where the variable is unset.
type environ func(name string) string

// run executes one command line, without the program's name, and returns the exit code.
// Errors are written here and nowhere else.
func run(ctx context.Context, args []string, env environ, s stdio) int {
	return execute(ctx, newRootCommand(env, s, replay), args, s)
}

func execute(ctx context.Context, root *cobra.Command, args []string, s stdio) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = errInterrupted
	}
	code := exitCode(err)
	if code == exitFound { // the report that was asked for says what was found
		return code
	}
	complain(s.err, err)
	return code
}

// complain tells the person at the command line. Where even that cannot be written, the exit code is left to tell.
func complain(stderr io.Writer, err error) {
	_, _ = fmt.Fprintf(stderr, "vapshadow: %v\n", err)
	if usage, ok := errors.AsType[*usageError](err); ok {
		_, _ = fmt.Fprintf(stderr, "Try: %s --help\n", usage.command)
	}
}

func newRootCommand(env environ, s stdio, replay replayFunc) *cobra.Command {
	root := &cobra.Command{
		Use:   "vapshadow",
		Short: "Whom would this ValidatingAdmissionPolicy have stopped?",
		Long: `vapshadow reads a kube-apiserver's audit log, rebuilds the admission requests in it,
and evaluates ValidatingAdmissionPolicies on them exactly as the apiserver would have.
What the log does not hold is reported as unknown, by name, and never guessed.
It is audit-only: nothing in it can change or block anything in a cluster.

Exit codes:
  0    done
  1    done, and something was found that --fail-on names, or verify found a disagreement
  2    the command line is wrong
  3    an input could not be read, or the output not written
  130  interrupted`,
		Example: "  vapshadow replay --policies policies/ --cluster cluster/ --audit-log audit.log",
		Version: readVersion().Version,
		Args:    knownCommand,

		SuggestionsMinimumDistance: 2,    // letters that may be wrong
		SilenceErrors:              true, // run writes them, once
		SilenceUsage:               true,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetVersionTemplate("vapshadow {{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true // ours is in completion.go
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return wrongUsage(cmd, "%w", err) })
	root.SetHelpCommand(newHelpCommand(root))
	root.AddCommand(
		newReplayCommand(env, s, replay),
		newExplainCommand(s),
		newVerifyCommand(env, s),
		newServeCommand(s),
		newForwardCommand(s),
		newConfigCommand(s),
		newMigrateCommand(s),
		newDoctorCommand(s),
		newReportCommand(s),
		newPlanCommand(s),
		newUICommand(s),
		newDeadLettersCommand(s),
		newVersionCommand(s),
		newCompletionCommand(s),
	)
	return root
}

// knownCommand refuses what is no subcommand, with the name that was probably meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	meant := cmd.SuggestionsFor(args[0])
	if len(meant) == 0 {
		return wrongUsage(cmd, "unknown command %q", args[0])
	}
	return wrongUsage(cmd, "unknown command %q; did you mean %q?", args[0], strings.Join(meant, `" or "`))
}
