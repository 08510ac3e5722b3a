package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/config"
)

func TestTOMLComesBackTheSame(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]string{"defaults": "", "everything": everything} {
		cfg, _, err := config.Load(place(t, own, ""))
		if err != nil {
			t.Fatal(err)
		}
		text, err := cfg.TOML()
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := config.Load(place(t, text, ""))
		if err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, text)
		}
		if diff := cmp.Diff(string(cfg.JSON()), string(again.JSON())); diff != "" {
			t.Errorf("%s (-first +second):\n%s", name, diff)
		}
	}
}

// TestSettingsAreExplained has each setting stand with where it comes from, those of
// nowhere too.
func TestSettingsAreExplained(t *testing.T) {
	t.Parallel()
	own := config.Default()
	own.MaxTurns = 7
	last := own
	last.Model = "m"
	text, err := config.Explained([]config.Layer{
		{Name: "default", Config: config.Default()},
		{Name: "own", Config: own},
		{Name: "environment", Config: last},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"model = 'm'  # environment\n",
		"max_turns = 7  # own\n",
		"max_review_cycles = 2  # default\n",
		"sandbox = 'auto'  # default\n",
		"level = 'safe'  # default\n",
		"evidence = 'unbroken'  # default\n",
		"environment = 'minimal'  # default\n",
		"publish_interval = '2s'  # default\n",
		"approve_plan = false  # default\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if _, _, err := config.Load(place(t, text, "")); err != nil {
		t.Errorf("it is no file of settings: %v", err)
	}
}

func TestWithAndFiles(t *testing.T) {
	t.Parallel()
	got := config.Config{Model: "a", MaxTurns: 5}.With(config.Config{Model: "b"})
	if diff := cmp.Diff(config.Config{Model: "b", MaxTurns: 5}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	own, theirs := filepath.Join("h", "config.toml"), filepath.Join("r", ".plan", "config.toml")
	if diff := cmp.Diff([][]string{{own}, {own, theirs}}, [][]string{config.Files("h", ""), config.Files("h", "r")}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
