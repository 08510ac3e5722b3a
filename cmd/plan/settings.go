package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/worktree"
)

func (a *app) configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Show the settings that hold here, and the files they come from",
		Example: `  plan config
  plan config --json | jq .model`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root := ""
			if repo, err := worktree.Open(cmd.Context(), a.dir); err == nil {
				root = repo.Root()
			}
			cfg, err := a.settings(root, config.Config{})
			if err != nil {
				return err
			}
			if a.json {
				_, err := fmt.Fprintf(a.out, "%s\n", cfg.JSON())
				return failed(err)
			}
			paths, err := config.FindHome(a.getenv)
			if err != nil {
				return failed(err)
			}
			fmt.Fprintf(a.out, "home        %s\n", paths.Home)
			for _, f := range config.Files(paths.Home, root) {
				fmt.Fprintf(a.out, "file        %s\n", f)
			}
			text, err := cfg.TOML()
			if err != nil {
				return failed(err)
			}
			_, err = fmt.Fprintf(a.out, "\n%s", text)
			return failed(err)
		},
	}
}
