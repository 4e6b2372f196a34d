package main

import (
	"errors"
	"os/exec"
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
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"usage": usage},
	})
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
