package main

import (
	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
)

func (a *app) configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Show the settings that hold here, and the files they come from",
		Long: `Config shows the settings that hold here, each with where it comes from (default,
a file, environment), and for each provider whether there is a key and where from:
never the key. Of a setting that is not set and has no one default it says what that
means. Shown are the default provider, those of the settings, and the usual ones
whose variable is set.

A provider is a server with a name. The usual ones are known; config.toml says
what is different, or names another:

  model = "corp/big"            provider/model

  [providers.corp]
  base_url = "https://llm.corp.example/v1"
  wire = "chat"                 or responses, or anthropic
  key_env = "CORP_LLM_KEY"      the variable; or key_command = "pass show corp"
  headers = {X-Team = "$TEAM"}  $NAME is read from the environment

  [route]
  cheap = "corp/small"          what @cheap and @strong stand for
  strong = "anthropic/claude-opus-4-7"

  [phase.review]
  model = "@strong"`,
		Example: `  plan config
  plan config --json | jq .model
  plan config --json | jq '.keys[] | select(.set)'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, root, err := a.host.SettingsAt(cmd.Context(), a.dir)
			if err != nil {
				return err
			}
			keys := a.host.Connector(cmd.Context(), a.dir).Keys(cfg)
			if a.json {
				return a.document(render.SettingsDocument{Config: cfg.Public(), Keys: keys})
			}
			home, files, err := a.host.SettingsFiles(root)
			if err != nil {
				return err
			}
			layers, err := a.host.SettingsLayers(root)
			if err != nil {
				return err
			}
			return render.Settings(a.out, layers, keys, home, files)
		},
	}
}
