package batches

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/internal/gittest"
)

// TestAPublishCommandRunsWhatTheUserHas: what the work changed of it is not run with the
// user's keys, however the command leads there; what the work did not touch is.
func TestAPublishCommandRunsWhatTheUserHas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gittest.Write(t, dir, map[string]string{
		"scripts/publish": "#!/bin/sh\n",
		"Makefile":        "publish:\n\ttrue\n",
		"package.json":    `{"scripts": {"publish": "true"}}`,
		"NOTES.md":        "text\n",
		"bin/gh":          "#!/bin/sh\n",
	})
	for _, name := range []string{"scripts/publish", "bin/gh"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	outside := "/usr/bin:/bin"
	for command, c := range map[string]struct {
		changed  string
		searched string
		refused  bool
	}{
		"./scripts/publish":                    {"scripts/publish", outside, true},
		"bash -e scripts/publish":              {"scripts/publish", outside, true},
		"cd scripts && ./publish":              {"scripts/publish", outside, true},
		"make publish":                         {"Makefile", outside, true},
		"npm run publish":                      {"package.json", outside, true},
		"gh pr create":                         {"bin/gh", filepath.Join(dir, "bin"), true},
		"./scripts/publish --all":              {"Makefile", outside, false},
		"gh pr create --body-file NOTES.md":    {"NOTES.md", outside, false},
		"git push origin HEAD:refs/heads/work": {"scripts/publish", outside, false},
	} {
		if err := requireOwnPrograms(dir, command, c.searched, []string{c.changed}); (err != nil) != c.refused {
			t.Errorf("%s, with %s changed: %v", command, c.changed, err)
		}
	}
}
