package provider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/provider"
)

func TestPlace(t *testing.T) {
	t.Parallel()
	corp := map[string]config.ProviderConfig{
		"corp": {BaseURL: "https://llm.corp/v1", KeyEnv: "CORP_KEY", Wire: "responses", Auth: "api-key"},
	}
	tests := []struct {
		name     string
		settings config.Config
		environ  []string
		model    string
		want     provider.Place
	}{
		{
			"OpenAI where nothing is set",
			config.Config{},
			nil, "gpt-5",
			provider.Place{
				Provider: "openai",
				Model:    "gpt-5",
				Wire:     "responses",
				BaseURL:  "https://api.openai.com/v1",
				Auth:     "bearer",
				KeyFrom:  "OPENAI_API_KEY",
				Usual:    true,
			},
		},
		{
			"one of the catalogue",
			config.Config{},
			nil, "anthropic/claude-opus-4-7",
			provider.Place{
				Provider: "anthropic",
				Model:    "claude-opus-4-7",
				Wire:     "anthropic",
				BaseURL:  "https://api.anthropic.com",
				Auth:     "x-api-key",
				KeyFrom:  "ANTHROPIC_API_KEY",
			},
		},
		{
			"one of the catalogue with a maker in the model's name",
			config.Config{},
			nil, "openrouter/anthropic/claude-opus-4.5",
			provider.Place{
				Provider: "openrouter",
				Model:    "anthropic/claude-opus-4.5",
				Wire:     "chat",
				BaseURL:  "https://openrouter.ai/api/v1",
				Auth:     "bearer",
				KeyFrom:  "OPENROUTER_API_KEY",
			},
		},
		{
			"one without a key",
			config.Config{},
			nil, "ollama/qwen3:8b",
			provider.Place{
				Provider: "ollama",
				Model:    "qwen3:8b",
				Wire:     "chat",
				BaseURL:  "http://127.0.0.1:11434/v1",
				Auth:     "none",
				NoKey:    true,
			},
		},
		{
			"one of the settings",
			config.Config{Providers: corp},
			nil, "corp/m",
			provider.Place{
				Provider: "corp",
				Model:    "m",
				Wire:     "responses",
				BaseURL:  "https://llm.corp/v1",
				Auth:     "api-key",
				KeyFrom:  "CORP_KEY",
			},
		},
		{
			"one of the settings beside a base URL",
			config.Config{Providers: corp, BaseURL: "http://gw/v1"},
			nil, "corp/m",
			provider.Place{
				Provider: "corp",
				Model:    "m",
				Wire:     "responses",
				BaseURL:  "https://llm.corp/v1",
				Auth:     "api-key",
				KeyFrom:  "CORP_KEY",
			},
		},
		{
			"the settings' own default",
			config.Config{Providers: corp, Provider: "corp"},
			nil, "m",
			provider.Place{
				Provider: "corp",
				Model:    "m",
				Wire:     "responses",
				BaseURL:  "https://llm.corp/v1",
				Auth:     "api-key",
				KeyFrom:  "CORP_KEY",
				Usual:    true,
			},
		},
		{
			"a gateway takes names whole",
			config.Config{BaseURL: "http://gw/v1"},
			nil, "anthropic/claude",
			provider.Place{
				Provider: "default",
				Model:    "anthropic/claude",
				Wire:     "chat",
				BaseURL:  "http://gw/v1",
				Auth:     "bearer",
				KeyFrom:  "OPENAI_API_KEY",
				NoKey:    true,
				Usual:    true,
			},
		},
		{
			"a known host with its own key",
			config.Config{BaseURL: "https://api.deepseek.com/v1"},
			[]string{"DEEPSEEK_API_KEY=d"},
			"deepseek-chat",
			provider.Place{
				Provider: "deepseek",
				Model:    "deepseek-chat",
				Wire:     "chat",
				BaseURL:  "https://api.deepseek.com/v1",
				Auth:     "bearer",
				KeyFrom:  "DEEPSEEK_API_KEY",
				Usual:    true,
			},
		},
		{
			"a known host with OpenAI's variable",
			config.Config{BaseURL: "https://api.deepseek.com/v1"},
			[]string{"OPENAI_API_KEY=o"},
			"deepseek-chat",
			provider.Place{
				Provider: "deepseek",
				Model:    "deepseek-chat",
				Wire:     "chat",
				BaseURL:  "https://api.deepseek.com/v1",
				Auth:     "bearer",
				KeyFrom:  "OPENAI_API_KEY",
				Usual:    true,
			},
		},
		{
			"OPENAI_API_KEY is the key of OPENAI_BASE_URL, wherever that is",
			config.Config{BaseURL: "https://api.deepseek.com/v1"},
			[]string{"OPENAI_API_KEY=o", "DEEPSEEK_API_KEY=d"},
			"deepseek-chat",
			provider.Place{
				Provider: "deepseek",
				Model:    "deepseek-chat",
				Wire:     "chat",
				BaseURL:  "https://api.deepseek.com/v1",
				Auth:     "bearer",
				KeyFrom:  "OPENAI_API_KEY",
				Usual:    true,
			},
		},
		{
			"Azure, as of today",
			config.Config{
				Providers: map[string]config.ProviderConfig{"azure": {BaseURL: "https://us.openai.azure.com/openai/v1"}},
			},
			nil, "azure/gpt",
			provider.Place{
				Provider: "azure",
				Model:    "gpt",
				Wire:     "responses",
				BaseURL:  "https://us.openai.azure.com/openai/v1",
				Auth:     "api-key",
				KeyFrom:  "AZURE_OPENAI_API_KEY",
			},
		},
		{
			"Azure, an old address",
			config.Config{
				Providers: map[string]config.ProviderConfig{
					"azure": {BaseURL: "https://us.openai.azure.com/openai/deployments/d"},
				},
			},
			nil, "azure/gpt",
			provider.Place{
				Provider: "azure",
				Model:    "gpt",
				Wire:     "chat",
				BaseURL:  "https://us.openai.azure.com/openai/deployments/d",
				Auth:     "api-key",
				KeyFrom:  "AZURE_OPENAI_API_KEY",
			},
		},
		{
			"a command",
			config.Config{Providers: map[string]config.ProviderConfig{"openai": {KeyCommand: "pass openai"}}},
			nil, "openai/gpt-5",
			provider.Place{
				Provider: "openai",
				Model:    "gpt-5",
				Wire:     "responses",
				BaseURL:  "https://api.openai.com/v1",
				Auth:     "bearer",
				KeyFrom:  "command",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := open(t, tt.settings, tt.environ)
			got, err := set.Place(tt.model)
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(provider.Place{})); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if again, err := set.Place(got.Name()); tt.settings.BaseURL == "" &&
				(err != nil || again.Provider != got.Provider || again.Model != got.Model) {
				t.Errorf("%s is at %+v, %v", got.Name(), again, err)
			}
		})
	}
}

func TestPlacesThatAreNone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, model, want string
		settings          config.Config
	}{
		{"a provider that is not described", "m", "there is no provider named nowhere", config.Config{Provider: "nowhere"}},
		{"one without an address", "azure/gpt", "the provider azure has no address", config.Config{}},
	}
	for _, tt := range tests {
		_, err := open(t, tt.settings, nil).Place(tt.model)
		hinted, ok := err.(interface{ Hint() string })
		if err == nil || err.Error() != tt.want || !ok || hinted.Hint() == "" {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	set := open(t, config.Config{Provider: "nowhere"}, nil)
	if set.Wire("m") != "" || set.Same("m", "m") || set.Window("m") != 0 || set.Provider("m") != "" {
		t.Error("a model without a place has properties")
	}
}

// Two models are at the same server only where their conversations can go on with
// each other.
func TestSame(t *testing.T) {
	t.Parallel()
	set := open(t, config.Config{
		BaseURL: "https://api.deepseek.com/v1",
		Providers: map[string]config.ProviderConfig{
			"deepseek": {BaseURL: "https://proxy.corp/v1", KeyEnv: "CORP"},
			"a":        {BaseURL: "http://a/v1"},
			"b":        {BaseURL: "http://a/v1", Wire: "anthropic"},
		},
	}, []string{"DEEPSEEK_API_KEY=d"})
	for models, want := range map[[2]string]bool{
		{"a/x", "a/y"}:      true,
		{"a/x", "b/x"}:      false,
		{"x", "y"}:          true,
		{"x", "a/x"}:        false,
		{"x", "deepseek/x"}: false,
	} {
		if got := set.Same(models[0], models[1]); got != want {
			t.Errorf("%v: %v, want %v", models, got, want)
		}
	}
}
