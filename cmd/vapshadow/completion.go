package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletionCommand(s stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print a script that completes commands, flags and their values in a shell",
		Example: `  source <(vapshadow completion bash)
  vapshadow completion zsh > "${fpath[1]}/_vapshadow"
  vapshadow completion fish > ~/.config/fish/completions/vapshadow.fish
  vapshadow completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: shells,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return wrongUsage(cmd, "name one shell: %s", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeCompletion(cmd, args[0], s.out)
		},
	}
}

func writeCompletion(cmd *cobra.Command, shell string, out io.Writer) error {
	write := map[string]func() error{
		"bash":       func() error { return cmd.Root().GenBashCompletionV2(out, true) },
		"zsh":        func() error { return cmd.Root().GenZshCompletion(out) },
		"fish":       func() error { return cmd.Root().GenFishCompletion(out, true) },
		"powershell": func() error { return cmd.Root().GenPowerShellCompletionWithDesc(out) },
	}[shell]
	if write == nil {
		return wrongUsage(cmd, "no completion for shell %q: there is %s", shell, strings.Join(shells, ", "))
	}
	if err := write(); err != nil {
		return fmt.Errorf("writing the completion script: %w", err)
	}
	return nil
}
