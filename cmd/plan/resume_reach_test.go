package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
)

// TestKeptSettings: how servers are reached is read anew, all else is as it
// was kept.
func TestKeptSettings(t *testing.T) {
	t.Parallel()
	const key = "https://me:hunter22@corp.example/v1?key=hunter22"
	kept := config.Config{
		Model:     "corp/big",
		BaseURL:   key,
		Providers: map[string]config.ProviderConfig{"corp": {BaseURL: key, Headers: map[string]string{"X": "hunter22"}, KeyEnv: "CORP"}},
		Route:     config.RouteConfig{Cheap: "corp/small"},
		MaxTurns:  7,
	}
	files := config.Config{Model: "new", BaseURL: key, Providers: kept.Providers, Route: config.RouteConfig{Cheap: "new"}, MaxTurns: 9}
	run := &engine.Run{Start: &plan.RunStart{Config: kept.JSON()}}
	a := &app{}

	_, cfg, changed, err := a.keptSettings(run, files, said{})
	if err != nil || changed != nil {
		t.Fatalf("%+v, %v", changed, err)
	}
	if diff := cmp.Diff(kept, cfg); diff != "" {
		t.Errorf("nothing has changed (-want +got):\n%s", diff)
	}

	moved := files
	moved.BaseURL = "https://other.example/v1"
	moved.Providers = map[string]config.ProviderConfig{"corp": {BaseURL: "https://moved.example/v1", Headers: map[string]string{"X": "hunter22"}}}
	_, cfg, changed, err = a.keptSettings(run, moved, said{})
	if err != nil || cfg.BaseURL != "https://corp.example/v1" || cfg.Model != "corp/big" || cfg.Providers["corp"].Headers["X"] != "hunter22" {
		t.Errorf("moved: %+v, %v", cfg, err)
	}
	want := "providers.corp.base_url: https://corp.example/v1 → https://moved.example/v1, providers.corp.key_env: CORP → none"
	if changed == nil || strings.Join(changed.Changed, ", ") != want || strings.Contains(string(changed.Config), "hunter22") {
		t.Errorf("moved: %+v, want %s", changed, want)
	}

	gone := files
	gone.Providers = nil
	for name, c := range map[string]struct {
		flags said
		ok    bool
	}{
		"as it was":       {said{}, false},
		"another model":   {said{Config: config.Config{Model: "m", Route: config.RouteConfig{Cheap: "m"}}}, true},
		"only the phases": {said{Config: config.Config{Model: "m"}}, false},
	} {
		_, _, _, err := a.keptSettings(run, gone, c.flags)
		if (err == nil) != c.ok || err != nil && !strings.Contains(hintOf(err), "[providers.corp]") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAProviderOfTheCatalogueIsNotMissed: it is known without settings, unless
// all names go to one base URL.
func TestAProviderOfTheCatalogueIsNotMissed(t *testing.T) {
	t.Parallel()
	was := config.Config{Model: "anthropic/claude", Providers: map[string]config.ProviderConfig{"anthropic": {KeyEnv: "K"}}}
	now := config.Config{Model: "anthropic/claude"}
	if err := missingProvider(was, now); err != nil {
		t.Error(err)
	}
	now.BaseURL = "https://openrouter.ai/api/v1"
	if err := missingProvider(was, now); err == nil {
		t.Error("its models would be taken for ones of the base URL's")
	}
}

// TestOldRunsResumeAsTheyWere: settings without providers stay as they are kept,
// where the files have none either.
func TestOldRunsResumeAsTheyWere(t *testing.T) {
	t.Parallel()
	const old = `{"model":"m","base_url":"http://127.0.0.1:1/v1","max_turns":5,"retry":{"served":2},"timeouts":{"idle":"2m0s"}}`
	run := &engine.Run{Start: &plan.RunStart{Config: []byte(old)}}
	_, cfg, changed, err := (&app{}).keptSettings(run, config.Default(), said{})
	if err != nil || changed != nil || string(cfg.JSON()) != old {
		t.Errorf("%s, %+v, %v", cfg.JSON(), changed, err)
	}
	const address = "http://u:p@127.0.0.1:1/v1?key=k"
	run.Start.Config = []byte(`{"base_url":"` + address + `"}`) // an earlier version kept it whole
	if _, cfg, _, err = (&app{}).keptSettings(run, config.Config{BaseURL: "http://127.0.0.1:1/v1"}, said{}); err != nil || cfg.BaseURL != address {
		t.Errorf("%s, %v", cfg.BaseURL, err)
	}
}
