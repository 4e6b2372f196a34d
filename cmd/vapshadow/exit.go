package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// The exit codes. Scripts rely on them: they never change their meaning.
const (
	exitDone        = 0
	exitFound       = 1 // something that --fail-on names
	exitUsage       = 2
	exitUnreadable  = 3   // an input could not be read, or the output not written
	exitInterrupted = 130 // as shells report a command that SIGINT ended
)

var (
	// errFound ends a replay that found what --fail-on names. It is no failure of the replay: nothing is printed for it.
	errFound       = errors.New("found what --fail-on names")
	errInterrupted = errors.New("interrupted: the log was not read to its end, so nothing is reported")
)

// usageError is a mistake in the command line. It names the command whose help to read.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func wrongUsage(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{command: cmd.CommandPath(), err: fmt.Errorf(format, args...)}
}

func exitCode(err error) int {
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errFound):
		return exitFound
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	default:
		return exitUnreadable
	}
}
