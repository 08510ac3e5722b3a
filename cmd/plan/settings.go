package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/worktree"
)

func (a *app) configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Show the settings that hold here, and the files they come from",
		Long: `Config shows the settings that hold here, the files they come from, and for each
provider whether there is a key and where from: never the key. Shown are the
default provider, those of the settings, and the usual ones whose variable is
set.

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
			root := ""
			if repo, err := worktree.Open(cmd.Context(), a.dir); err == nil {
				root = repo.Root()
			}
			cfg, err := a.settings(root, config.Config{})
			if err != nil {
				return err
			}
			return a.showSettings(cfg, root)
		},
	}
}

// shownSettings is the document of `plan config --json`.
type shownSettings struct {
	config.Config
	Keys []keyState `json:"keys"`
}

func (a *app) showSettings(cfg config.Config, root string) error {
	keys := a.keyStates(cfg)
	if a.json {
		return a.document(shownSettings{Config: cfg.Public(), Keys: keys})
	}
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return failed(err)
	}
	text, err := cfg.TOML()
	if err != nil {
		return failed(err)
	}
	fmt.Fprintf(a.out, "home        %s\n", paths.Home)
	for _, f := range config.Files(paths.Home, root) {
		note := ""
		if _, err := os.Stat(f); errors.Is(err, os.ErrNotExist) {
			note = " (there is none)"
		}
		fmt.Fprintf(a.out, "file        %s%s\n", render.SafeLine(f), note)
	}
	for _, k := range keys {
		fmt.Fprintf(a.out, "key         %s\n", render.SafeLine(k.String()))
	}
	_, err = fmt.Fprintf(a.out, "\n%s", text)
	return failed(err)
}

// keyState says whether there is a key for a provider, and never which.
type keyState struct {
	Provider string `json:"provider"` // "" for a base URL that is no known provider's
	Default  bool   `json:"default,omitempty"`
	Set      bool   `json:"set"`
	From     string `json:"from"` // a variable's name, key_command or none
	Wire     string `json:"wire"`
	BaseURL  string `json:"base_url,omitempty"`
}

// String is the state in one line.
func (k keyState) String() string {
	name := cmp.Or(k.Provider, "base_url")
	if k.Default {
		name += " (default)"
	}
	from := k.From
	switch {
	case from == keyFromNone:
		from = "needs none"
	case from == keyFromCommand:
	case k.Set:
		from += " is set"
	default:
		from += " is not set"
	}
	return fmt.Sprintf("%-22s %-30s %s at %s", name, from, k.Wire, cmp.Or(k.BaseURL, "no base_url"))
}

// What a key can come from beside a variable.
const (
	keyFromCommand = "key_command"
	keyFromNone    = "none"
)
