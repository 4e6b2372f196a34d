package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set by the linker: see the Makefile. They are empty in a plain "go build".
var (
	version string
	commit  string
)

// versionInfo says what this binary is, and which libraries decide what its verdicts are.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	// Apiserver and CEL are module versions; empty in a binary that does not evaluate.
	Apiserver string `json:"k8s.io/apiserver"`
	CEL       string `json:"github.com/google/cel-go"`
}

func readVersion() versionInfo {
	v := versionInfo{Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if v.Version == "" {
		v.Version = build.Main.Version // set by "go install …@version"
	}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" && v.Commit == "" {
			v.Commit = setting.Value
		}
	}
	v.Apiserver = moduleVersion(build, "k8s.io/apiserver")
	v.CEL = moduleVersion(build, "github.com/google/cel-go")
	return v
}

func moduleVersion(build *debug.BuildInfo, path string) string {
	for _, module := range build.Deps {
		if module.Path != path {
			continue
		}
		if module.Replace != nil {
			return module.Replace.Version
		}
		return module.Version
	}
	return ""
}

func newVersionCommand(s stdio) *cobra.Command {
	output := oneOf("text", "text", "json")
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and those of the Kubernetes libraries that evaluate policies",
		Example: `  vapshadow version
  vapshadow version -o json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return writeVersion(s, readVersion(), output.value)
		},
	}
	addEnumerated(cmd, output, "output", "o", "how to print it")
	return cmd
}

func writeVersion(s stdio, v versionInfo, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	}
	lines := [][2]string{
		{"version", v.Version},
		{"commit", v.Commit},
		{"go", v.Go + " " + v.OS + "/" + v.Arch},
		{"k8s.io/apiserver", v.Apiserver},
		{"github.com/google/cel-go", v.CEL},
	}
	for _, line := range lines {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(s.out, "%-24s  %s\n", line[0], line[1]); err != nil {
			return fmt.Errorf("writing the version: %w", err)
		}
	}
	return nil
}
