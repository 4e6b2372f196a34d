package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the program too: "exec vapshadow" in a script runs main.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"vapshadow": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"usage": usage, "exits": exits},
		Setup: func(env *testscript.Env) error {
			examples, err := filepath.Abs("../../examples")
			env.Setenv("EXAMPLES", examples)
			return err
		},
	})
}

// exits runs a program that is to end with the exit code given first.
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits code program [arguments]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v ended with %d (%v), want exit code %d", args[1:], got, err, want)
	}
}

// usage runs a program whose command line is to be refused: its exit code is 2, and it prints to stderr only.
func usage(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) == 0 {
		ts.Fatalf("usage: usage program [arguments]")
	}
	err := ts.Exec(args[0], args[1:]...)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != exitUsage {
		ts.Fatalf("%v ended with %v, want exit code %d", args, err, exitUsage)
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("%v printed to standard output: %s", args, out)
	}
}
