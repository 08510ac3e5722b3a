package connect

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/sandbox"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	const gateway = "https://llm.example.com/v1"
	tests := []struct {
		name    string
		cfg     config.Config
		environ []string
		want    []string
	}{
		{
			"nothing is set",
			config.Config{},
			nil,
			[]string{"openai (default) OPENAI_API_KEY is not set responses at https://api.openai.com/v1"},
		},
		{
			"a usual provider as the default",
			config.Config{Provider: "openrouter"},
			[]string{"OPENROUTER_API_KEY=k", "OPENAI_API_KEY=k"},
			[]string{
				"openrouter (default) OPENROUTER_API_KEY is set chat at https://openrouter.ai/api/v1",
				"openai OPENAI_API_KEY is set responses at https://api.openai.com/v1",
			},
		},
		{
			"a server of one's own",
			config.Config{BaseURL: gateway},
			nil,
			[]string{"base_url (default) OPENAI_API_KEY is not set chat at " + gateway},
		},
		{
			"an own provider as the default, and one that the catalogue fills in",
			config.Config{
				Provider: "corp",
				Providers: map[string]config.ProviderConfig{
					"corp":      {BaseURL: gateway, KeyCommand: "pass corp"},
					"azure":     {Wire: "chat"},
					"anthropic": {KeyEnv: "CLAUDE"},
				},
			},
			[]string{"CLAUDE=k", "ANTHROPIC_API_KEY="},
			[]string{
				"corp (default) key_command chat at " + gateway,
				"anthropic CLAUDE is set anthropic at https://api.anthropic.com",
				"azure AZURE_OPENAI_API_KEY is not set chat at no base_url",
			},
		},
		{
			"no key is needed",
			config.Config{BaseURL: gateway, Provider: "ollama"},
			nil,
			[]string{"ollama (default) needs none chat at http://127.0.0.1:11434/v1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := Connector{Environ: tt.environ}
			var got []string
			for _, k := range c.Keys(tt.cfg) {
				got = append(got, strings.Join(strings.Fields(k.String()), " "))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestCommandsSeeNoUsualKey: what the catalogue takes keys from reaches no
// command, also where the settings do not name it.
func TestCommandsSeeNoUsualKey(t *testing.T) {
	t.Parallel()
	for _, p := range catalog.New(nil).Providers() {
		if p.KeyEnv == "" {
			continue
		}
		if left := sandbox.CleanEnv([]string{p.KeyEnv + "=k"}); slices.Contains(left, p.KeyEnv+"=k") {
			t.Errorf("commands see %s", p.KeyEnv)
		}
	}
}
