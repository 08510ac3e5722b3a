package permit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools/permit"
)

// furnished is a place with files that rules are about.
func furnished(t *testing.T) permit.Place {
	t.Helper()
	place := at(t)
	for _, name := range []string{
		"secret.txt", "sub/secret.txt", "migrations/1.sql", "a.txt", "b.go", "push", "home/secret.txt",
		"other/migrations/2.sql", "other/src/b.go", "tests.sh", "pushes.sh", "drops.sh",
	} {
		path := filepath.Join(place.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := map[string]string{
			"pushes.sh": "set -e\nif true; then git push; fi\n",
			"drops.sh":  "rm migrations/*\n",
			"tests.sh":  "set -eu\ngo test ./...\nrm -rf build\n",
		}[name]
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(place.Root, "migrations/1.sql"), filepath.Join(place.Root, "hard")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("migrations", filepath.Join(place.Root, "innocent")); err != nil {
		t.Fatal(err)
	}
	place.Home = filepath.Join(place.Root, "home")
	return place
}

// TestRulesAboutCommandLines: what is denied or asked about is what a line would
// do, whichever way it is written.
func TestRulesAboutCommandLines(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	place := furnished(t)
	p := policy(t, place, permit.Layer{Name: "config.toml", Rules: []permit.Rule{
		{Tool: "bash", Action: permit.Allow},
		{Command: "make deploy", Action: permit.Ask},
		{Path: "*.pem", Action: permit.Ask},
		{Command: "git push", Action: permit.Deny},
		{Path: "secret.txt", Action: permit.Deny},
		{Path: "migrations/**", Action: permit.Deny},
		{Path: "geh\u00e9im/**", Action: permit.Deny},
		{Path: "fu\u0308r", Action: permit.Deny},
		{Path: "\u1e69", Action: permit.Deny},
	}})
	n := 0
	for line := range strings.Lines(string(data)) {
		want, command, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		command = strings.ReplaceAll(strings.ReplaceAll(command, `\n`, "\n"), "ROOT", place.Root)
		if got := p.Judge(bash(command)); string(got.Action) != want {
			t.Errorf("%s: %s (%s: %s), want %s", command, got.Action, got.Rule, got.Reason, want)
		}
	}
	if n < 150 {
		t.Errorf("only %d command lines", n)
	}
}
