package connect

import (
	"testing"

	"github.com/plan-engine/plan/config"
)

// TestAProviderOfTheCatalogueIsNotMissed: it is known without settings, unless
// all names go to one base URL.
func TestAProviderOfTheCatalogueIsNotMissed(t *testing.T) {
	t.Parallel()
	was := config.Config{Model: "anthropic/claude", Providers: map[string]config.ProviderConfig{"anthropic": {KeyEnv: "K"}}}
	now := config.Config{Model: "anthropic/claude"}
	if err := RequireProviders(was, now); err != nil {
		t.Error(err)
	}
	now.BaseURL = "https://openrouter.ai/api/v1"
	if err := RequireProviders(was, now); err == nil {
		t.Error("its models would be taken for ones of the base URL's")
	}
}
