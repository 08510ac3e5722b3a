package proof_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
)

// A lock file that the work changed is fetched from once for each tree, with a network
// and without keys, and what comes of it is there for the checks of that tree alone.
func TestAChangedLockFileIsFetchedFrom(t *testing.T) {
	t.Parallel()
	no := false
	devices, _ := os.ReadFile("/proc/net/dev") // those of the network; none elsewhere than on Linux
	network := ""
	if len(devices) > 0 {
		network = strconv.Itoa(strings.Count(string(devices), "\n"))
	}
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		for name, test := range map[string]struct {
			settings    config.Config
			changed     string
			seen, noted string
		}{
			"known": {
				changed: "sub/Cargo.lock",
				seen:    "cargo fetch in sub TOKEN= ",
				noted:   `sub/Cargo.lock changed, so "(if command -v cargo`,
			},
			"setup": {
				settings: config.Config{Checks: config.ChecksConfig{Setup: "cargo setup"}},
				changed:  "flake.lock",
				seen:     "cargo setup in calc TOKEN= ",
				noted:    `flake.lock changed, so "cargo setup" ran on this tree first, with a network and without keys.]`,
			},
			"failing": {
				settings: config.Config{Checks: config.ChecksConfig{Setup: "echo refused; exit 7"}},
				changed:  "go.sum",
				noted:    `without keys. It ended with exit code 7: refused. If a source wants keys, this line in`,
			},
			"no network": {
				settings: config.Config{Phase: map[plan.Phase]config.PhaseConfig{plan.Implement: {Network: &no}}},
				changed:  "Cargo.lock",
				noted:    "[Cargo.lock changed. What it names was not fetched, because Implement has no network.]",
			},
			"no lock file": {changed: "Cargo.md"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := wallstest.NewChange(t, wallstest.Committed(t), level)
				tools := t.TempDir()
				// It says how it was called, in what it may write for later ones.
				fake := `#!/bin/sh
where=$(ls | grep -v lock | head -1); [ "$where" = Makefile ] && where=calc; [ -e ../calc ] && where=sub
net=$(grep -c . /proc/net/dev 2>/dev/null)
echo "cargo $* in $where TOKEN=$NPM_TOKEN $net" >>"$(go env GOCACHE)/fetched"
`
				if err := os.WriteFile(filepath.Join(tools, "cargo"), []byte(fake), 0o700); err != nil {
					t.Fatal(err)
				}
				c.Config.Env = append(c.Config.Env, "PATH="+tools+":"+os.Getenv("PATH"), "NPM_TOKEN=secret")
				var err error
				if c.Config.Shell, err = sandbox.New(sandbox.Config{Env: c.Config.Env}); err != nil {
					t.Fatal(err)
				}
				if c.Walls, err = walls.New(t.Context(), c.Config); err != nil {
					t.Fatal(err)
				}
				gittest.Write(t, c.Dir, map[string]string{test.changed: "changed\n"})
				if c.Trees.Work, err = c.Repo.Tree(t.Context()); err != nil {
					t.Fatal(err)
				}
				p := open(t, c, test.settings)
				read := plan.Trial{
					Check: plan.Check{Command: `cat "$(go env GOCACHE)/fetched" 2>/dev/null || true`},
					Trees: c.Trees,
				}
				res, _, err := p.Checker.Check(t.Context(), read, nil)
				seen := test.seen
				if seen != "" {
					seen += network + "\n"
				}
				if err != nil || !strings.HasPrefix(res.Output, seen) || !strings.Contains(res.Output, test.noted) ||
					test.noted == "" && res.Output != "" {
					t.Errorf("the check: %v, %q", err, res.Output)
				}
				read.On = plan.TreeReviewed
				res, _, err = p.Checker.RunTrial(t.Context(), read)
				if again := strings.Count(res.Output, "cargo "); err != nil || again != strings.Count(test.seen, "cargo ") {
					t.Errorf("evidence: %v, %q", err, res.Output)
				}
				read.On = plan.TreeStart
				res, _, err = p.Checker.RunTrial(t.Context(), read)
				if err != nil || res.Output != "" {
					t.Errorf("the start: %v, %q", err, res.Output)
				}
			})
		}
	})
}
