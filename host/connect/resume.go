package connect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/hint"
)

// KeepServers are the settings that a run kept, which hold no keys, with servers
// reached as they are now: the providers of the files, and the base URL of the
// files where that is the same and has what may be a key.
func KeepServers(stored, files config.Config) config.Config {
	stored.Providers = files.Providers
	if stored.PublicURL() == files.PublicURL() && files.BaseURL != files.PublicURL() {
		stored.BaseURL = files.BaseURL
	}
	return stored
}

// RequireProviders refuses to go on where a model was at a provider that no
// settings have any more: its name would be taken for a model of another server.
func RequireProviders(previous, current config.Config) error {
	known := knownProviders(current)
	for _, name := range slices.Sorted(maps.Keys(previous.Providers)) {
		if known(name) {
			continue
		}
		uses := func(model string) bool { return strings.HasPrefix(model, name+"/") }
		if current.Provider == name || slices.ContainsFunc(modelNames(current), uses) {
			return hint.New(
				fmt.Sprintf("the run has models at the provider %s, which is in no settings any more", name),
				fmt.Sprintf("Put [providers.%s] back into config.toml, or name other models with --model and "+
					"--phase-model.", name))
		}
	}
	return nil
}

// modelNames are all names of models that the settings hold.
func modelNames(cfg config.Config) []string {
	names := []string{
		cfg.Model,
		cfg.Route.Cheap,
		cfg.Route.Strong,
		cfg.Route.Summary,
		cfg.Route.SubAgent,
	}
	for _, p := range cfg.Phase {
		names = append(names, p.Model, p.Escalate)
	}
	return names
}
