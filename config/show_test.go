package config_test

import (
	"encoding"
	"path/filepath"
	"reflect"
	"slices"
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
	last.Permission = []config.Permission{
		{Tool: "bash", Action: "deny", From: config.FromUser},
		{Tool: "bash", Command: "make *", Action: "allow", From: config.FromRepository},
	}
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
		"max_untracked = '1GiB'  # default\n",
		"retention = '4320h0m0s'  # default\n",
		"action = 'deny'  # environment\n",
		"action = 'allow'  # environment, not trusted: loosens none of your rules\n",
		"base_url = ''  # not set: the provider's own\n",
		"max_cost = 0.0  # not set: no bound\n",
		"# wait is not set: on a terminal and in batches, there for a server only that answered before\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "# permission is not set") {
		t.Errorf("it says that there are no rules:\n%s", text)
	}
	if _, _, err := config.Load(place(t, text, "")); err != nil {
		t.Errorf("it is no file of settings: %v", err)
	}
}

// TestEverySettingIsExplained has each setting that can be stand in the text, be it set or not.
func TestEverySettingIsExplained(t *testing.T) {
	t.Parallel()
	text, err := config.Explained([]config.Layer{{Name: "default", Config: config.Default()}})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	table := ""
	for line := range strings.Lines(text) {
		switch name, value, isValue := strings.Cut(line, " = "); {
		case strings.HasPrefix(line, "["):
			table = strings.Trim(line, "[]\n") + "."
		case isValue:
			said[table+name] = value
		case strings.HasPrefix(line, "# "):
			name, value, _ = strings.Cut(strings.TrimPrefix(line, "# "), " is not set: ")
			said[name] = value
		}
	}
	for _, key := range settingsOf(reflect.TypeFor[config.Config](), "") {
		value, ok := said[key]
		nothing, _, _ := strings.Cut(value, "  # default")
		if !ok || slices.Contains([]string{"", "''", "0", "0.0", "'0s'", "'0'", "[]"}, nothing) {
			t.Errorf("%s is said to be %q", key, value)
		}
	}
}

// settingsOf are the settings of a table and those below it, but for those below a name
// that people choose.
func settingsOf(table reflect.Type, before string) []string {
	var out []string
	for field := range table.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
		switch _, plain := reflect.New(field.Type).Interface().(encoding.TextUnmarshaler); {
		case name == "-":
		case field.Type.Kind() == reflect.Struct && !plain:
			out = append(out, settingsOf(field.Type, before+name+".")...)
		default:
			out = append(out, before+name)
		}
	}
	return out
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
