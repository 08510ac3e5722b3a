package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/tools/hook"
)

// A hook outside of walls runs what was compared, although a process that goes on in the
// tree changes it between the look and the start; and finds what stands beside it.
func TestHooksOutsideRunWhatWasCompared(t *testing.T) {
	t.Parallel()
	const evil = "#!/bin/sh\necho evil >>evil\n"
	for name, test := range map[string]struct {
		command string
		safe    bool // else it is only compared
	}{
		"a program":        {"./tools/judge x", true},
		"by a shell":       {"sh tools/judge x", true},
		"behind others":    {"A=1 env B=2 nice ./tools/judge x", true},
		"one of several":   {"true && ./tools/judge x; true", true},
		"from another one": {"cd tools && ./judge x", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(root, "tools/judge")
			gittest.Write(t, root, map[string]string{
				"tools/judge": "#!/bin/sh\n. \"$(dirname \"$0\")/lib\"\npwd >>ran\ntest \"$1\" = x\n",
				"tools/lib":   "echo lib >>ran\n",
			})
			if err := os.Chmod(program, 0o700); err != nil {
				t.Fatal(err)
			}
			hooks, err := pinHooks(root, "", []config.Hook{{
				Event:   hook.SessionEnd,
				Command: test.command,
				Outside: true,
				From:    config.FromUser,
			}})
			if err != nil {
				t.Fatal(err)
			}
			run := func(after func(h *hook.Hook)) hook.Report {
				all := hooksOf(root, "", hooks)
				after(&all[0])
				runner, err := hook.New(hook.Config{Hooks: all, Dir: root, Env: os.Environ()})
				if err != nil {
					t.Fatal(err)
				}
				return runner.Each(t.Context(), hook.Input{Event: hook.SessionEnd}, nil)[0]
			}
			if rep := run(func(*hook.Hook) {}); !rep.OK() {
				t.Errorf("as it was: %s", rep.Why())
			}
			rewrite := func() { gittest.Write(t, root, map[string]string{"tools/judge": evil}) }
			late := run(func(h *hook.Hook) {
				seal := h.Seal
				h.Seal = func() (string, func() error, error) {
					line, done, err := seal()
					rewrite()
					return line, done, err
				}
			})
			_, err = os.Stat(filepath.Join(root, "evil"))
			if came := err == nil; came && test.safe || late.OK() {
				t.Errorf("changed behind the look, it ran (%v) and passed (%v)", came, late.OK())
			}
			if ran, err := os.ReadFile(filepath.Join(root, "ran")); test.safe &&
				(err != nil || string(ran) != strings.Repeat("lib\n"+root+"\n", 2)) {
				t.Errorf("it ran as %q, %v", ran, err)
			}
			_ = os.Remove(filepath.Join(root, "evil"))
			early := run(func(h *hook.Hook) { h.Check = nil })
			if _, err := os.Stat(filepath.Join(root, "evil")); err == nil || early.OK() {
				t.Errorf("changed before it was copied, it ran: %+v", early)
			}
		})
	}
}
