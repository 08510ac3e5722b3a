package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
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
	h := New(Config{Environ: []string{}})

	_, cfg, changed, err := h.keptSettings(run, files, Options{})
	if err != nil || changed != nil {
		t.Fatalf("%+v, %v", changed, err)
	}
	if diff := cmp.Diff(kept, cfg); diff != "" {
		t.Errorf("nothing has changed (-want +got):\n%s", diff)
	}

	moved := files
	moved.BaseURL = "https://other.example/v1"
	moved.Providers = map[string]config.ProviderConfig{"corp": {BaseURL: "https://moved.example/v1", Headers: map[string]string{"X": "hunter22"}}}
	_, cfg, changed, err = h.keptSettings(run, moved, Options{})
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
		flags Options
		ok    bool
	}{
		"as it was":       {Options{}, false},
		"another model":   {Options{Settings: config.Config{Model: "m", Route: config.RouteConfig{Cheap: "m"}}}, true},
		"only the phases": {Options{Settings: config.Config{Model: "m"}}, false},
	} {
		_, _, _, err := h.keptSettings(run, gone, c.flags)
		if (err == nil) != c.ok || err != nil && !strings.Contains(hint.Of(err), "[providers.corp]") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOldRunsResumeAsTheyWere: settings without providers stay as they are kept,
// where the files have none either.
func TestOldRunsResumeAsTheyWere(t *testing.T) {
	t.Parallel()
	h := New(Config{Environ: []string{}})
	const old = `{"model":"m","base_url":"http://127.0.0.1:1/v1","max_turns":5,"retry":{"served":2},"timeouts":{"idle":"2m0s"}}`
	run := &engine.Run{Start: &plan.RunStart{Config: []byte(old)}}
	_, cfg, changed, err := h.keptSettings(run, config.Default(), Options{})
	if err != nil || changed != nil || string(cfg.JSON()) != old {
		t.Errorf("%s, %+v, %v", cfg.JSON(), changed, err)
	}
	const address = "http://u:p@127.0.0.1:1/v1?key=k"
	run.Start.Config = []byte(`{"base_url":"` + address + `"}`) // an earlier version kept it whole
	if _, cfg, _, err = h.keptSettings(run, config.Config{BaseURL: "http://127.0.0.1:1/v1"}, Options{}); err != nil || cfg.BaseURL != address {
		t.Errorf("%s, %v", cfg.BaseURL, err)
	}
}

// TestOnDrift: what a person says goes before what the settings say.
func TestOnDrift(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		said engine.OnDrift
		cfg  *bool
		want engine.OnDrift
	}{
		{"", nil, engine.DriftParks},
		{"", &no, engine.DriftParks},
		{"", &yes, engine.DriftReplans},
		{engine.DriftGoesOn, &yes, engine.DriftGoesOn},
	} {
		if got := onDrift(Options{OnDrift: c.said}, config.Config{ReplanOnDrift: c.cfg}); got != c.want {
			t.Errorf("%q and %v make %q, want %q", c.said, c.cfg, got, c.want)
		}
	}
}

// TestSettingsChanged says what is different and keeps no key.
func TestSettingsChanged(t *testing.T) {
	t.Parallel()
	was := stored{Config: config.Default()}
	if got, err := compareSettings(was, was); got != nil || err != nil {
		t.Errorf("nothing changed: %+v, %v", got, err)
	}
	now := was
	now.MaxTurns, now.MaxCost, now.BaseURL = 7, 1.5, "https://me:hunter2@example.com/v1?key=hunter2"
	got, err := compareSettings(was, now)
	if err != nil {
		t.Fatal(err)
	}
	want := "base_url: https://example.com/v1, max_cost: 1.5, max_turns: 100 → 7"
	if words := strings.Join(got.Changed, ", "); words != want || strings.Contains(string(got.Config), "hunter2") {
		t.Errorf("got %s, and %s", words, got.Config)
	}
}
