package deploy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tool runs a tool that tools/go.mod pins, in a folder of the repository, and returns what it prints. The first time, Go
// builds it.
func tool(t *testing.T, folder, name string, args ...string) []byte {
	t.Helper()
	modules, err := filepath.Abs("tools/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "-modfile=" + modules, name}, args...)...)
	cmd.Dir = folder
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, complaint.Bytes())
	}
	return out
}

func content(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
