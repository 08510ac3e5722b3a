package host_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/gittest"
)

// What rules deny that is read reaches no model by another way: not as a place that a
// report or a plan names, not as what changed since it was shown, not in the diff that a
// reviewer is shown. That it changed, the reviewer learns. Rules of a repository that
// a person has not trusted keep nothing from its reviewer.
func TestWhatRulesDenyIsShownByNoOtherWay(t *testing.T) {
	t.Parallel()
	const (
		word = "hunter2hunter2"
		rule = "[[permission]]\npath = \"secret.*\"\naction = \"deny\"\n"
	)
	const play = `
[[reply]]
phase = "explore"
about = "Look around"
text = "` + "`greet.sh` prints hullo. secret.txt:1 and alias.txt:1 stand beside it; secret.py:1-2 has `key`" + `."

[[reply]]
phase = "plan"
about = "Look around"
text = """
# Plan: Say hello

## Files
- greet.sh — modified
- secret.txt — modified
- secret.py — modified

## Steps
1. In ` + "`greet.sh`, print `hello`; see `key` in `secret.py` and line 1 of `secret.txt`" + `.
"""

[[reply]]
phase = "implement"
about = "Look around"
turn = 0
  [[reply.call]]
  name = "bash"
  args = { command = "echo echo hello > greet.sh; sh touch.sh" }
`
	for name, c := range map[string]struct {
		file  string
		shown bool // to a reviewer alone
	}{
		"the user's":        {"home/config.toml", false},
		"of the repository": {"repo/.plan/config.toml", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := hosttest.New(t, play)
			for file, text := range map[string]string{
				c.file:            rule,
				"repo/secret.txt": "the word is " + word + "\n",
				"repo/secret.py":  "def key():\n    return \"" + word + "\"\n",
				"repo/touch.sh":   "sed -i s/the/The/ secret.txt\n",
			} {
				path := filepath.Join(w.Dir, file)
				err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("secret.txt", filepath.Join(w.Repo, "alias.txt")); err != nil {
				t.Fatal(err)
			}
			gittest.Git(t, w.Repo, "add", ".")
			gittest.Git(t, w.Repo, "commit", "-qm", "second")

			h := host.New(w.Config)
			defer h.Close()
			told := false
			saw := map[plan.Phase]bool{}
			_, err := h.Run(t.Context(), host.Request{
				Dir:     w.Repo,
				Text:    "Look around",
				Options: host.Options{AutoApprove: true}, // the script may touch what the rule is about
			}, host.Face{
				Show: func(ev plan.Event) {
					m, ok := ev.Body.(plan.MessageEnd)
					if !ok {
						return
					}
					text, err := json.Marshal(m)
					if err != nil {
						t.Error(err)
					}
					if strings.Contains(string(text), word) {
						saw[ev.Phase] = true
					}
					told = told || ev.Phase == plan.Review && strings.Contains(string(text), "+++ b/secret.txt\\n[its text is not shown")
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if told == c.shown || saw[plan.Review] != c.shown {
				t.Errorf("the reviewer is told %t, and sees it: %t", told, saw[plan.Review])
			}
			if delete(saw, plan.Review); len(saw) > 0 {
				t.Errorf("it reached %v", saw)
			}
		})
	}
}
