package host

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools/hook"
)

// TestHooksRunInTheWallsOfTheirPhase has a hook try what it may do, at each moment.
func TestHooksRunInTheWallsOfTheirPhase(t *testing.T) {
	t.Parallel()
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		if level == sandbox.LevelNone {
			return
		}
		beside := t.TempDir()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		c := wallstest.NewChange(t, wallstest.Committed(t), level)
		room := &hookRoom{open: c.Walls.HookRoom, note: func(text string) { t.Error(text) }}
		tries := func(event string) config.Hook {
			return config.Hook{
				Event: event,
				Command: "echo x > made-" + event + "; echo x > " + beside + "/" + event +
					"; (: < /dev/tcp/127.0.0.1/" + port + ") && echo reached; test -e made-" + event,
				From: config.FromUser,
			}
		}
		var hooks []config.Hook
		for _, event := range []string{hook.SessionStart, hook.PreToolUse, hook.PostToolUse, hook.Verdict} {
			hooks = append(hooks, tries(event))
		}
		mine := tries(hook.SessionEnd)
		mine.Outside = true
		runner, err := hook.New(hook.Config{
			Hooks: hooksOf(c.Dir, append(hooks, mine)),
			Room:  room.enter,
			Dir:   c.Dir,
			Env:   os.Environ(),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer room.leave()
		for _, test := range []struct {
			event string
			phase plan.Phase
			stays bool // what it writes to the tree
			free  bool // it runs outside
		}{
			{event: hook.SessionStart},
			{event: hook.PreToolUse, phase: plan.Explore},
			{event: hook.PostToolUse, phase: plan.Review},
			{event: hook.Verdict, phase: plan.Review},
			{event: hook.PreToolUse, phase: plan.Implement, stays: true},
			{event: hook.SessionEnd, stays: true, free: true},
		} {
			made := filepath.Join(c.Dir, "made-"+test.event)
			_ = os.Remove(made)
			for _, rep := range runner.Each(t.Context(), hook.Input{Event: test.event, Phase: test.phase}, nil) {
				if !rep.OK() {
					t.Errorf("%s in %q: %s", test.event, test.phase, rep.Why())
				}
				if strings.Contains(rep.Output, "reached") != test.free {
					t.Errorf("%s in %q and the network: %s", test.event, test.phase, rep.Output)
				}
			}
			if _, err := os.Stat(made); (err == nil) != test.stays {
				t.Errorf("%s in %q wrote to the tree: %v", test.event, test.phase, err)
			}
			if _, err := os.Stat(filepath.Join(beside, test.event)); (err == nil) != test.free {
				t.Errorf("%s in %q wrote beside it: %v", test.event, test.phase, err)
			}
			room.leave() // or landlock takes the next phase's changes for this one's
		}
	})
}

// TestHooksRunWhatWasThere changes what hooks run after the run has begun.
func TestHooksRunWhatWasThere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command string
		change  map[string]string
		runs    bool
	}{
		"as it was":         {command: "sh may-edit", runs: true},
		"rewritten":         {command: "sh may-edit", change: map[string]string{"may-edit": "exit 0\n"}},
		"a library":         {command: ". lib/all", change: map[string]string{"lib/all": "exit 0\n"}},
		"new":               {command: "test ! -e made || ./made", change: map[string]string{"made": "#!/bin/sh\n"}},
		"in a folder":       {command: "cd lib && sh all", change: map[string]string{"lib/all": "exit 0\n"}},
		"something else":    {command: "sh may-edit", change: map[string]string{"other": "x\n"}, runs: true},
		"what it looks at":  {command: "grep -q a other", change: map[string]string{"other": "a\n"}, runs: true},
		"outside the tree":  {command: "/bin/true", change: map[string]string{"may-edit": "x\n"}, runs: true},
		"what is run by it": {command: "make -s x", change: map[string]string{"Makefile": "x:\n\ttrue\n"}, runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			gittest.Write(t, root, map[string]string{
				"may-edit": "true\n",
				"lib/all":  "true\n",
				"other":    "a b\n",
				"Makefile": "x:\n\t@true\n",
			})
			from := []config.Hook{{Event: hook.PreToolUse, Command: test.command, From: config.FromUser}}
			pinned, err := pinHooks(root, from)
			if err != nil {
				t.Fatal(err)
			}
			gittest.Write(t, root, test.change)
			resumed := keepPins(from, pinned) // as another process finds them
			for _, hooks := range [][]config.Hook{pinned, resumed} {
				err := hooksOf(root, hooks)[0].Check()
				if (err == nil) != test.runs {
					t.Errorf("runs: %v", err)
				}
				if err != nil && !strings.Contains(err.Error(), "begin another run") {
					t.Errorf("it does not say what to do: %v", err)
				}
			}
		})
	}
	added := keepPins([]config.Hook{{Event: hook.PreToolUse, Command: "sh may-edit", From: config.FromUser}}, nil)
	root := t.TempDir()
	gittest.Write(t, root, map[string]string{"may-edit": "true\n"})
	if err := hooksOf(root, added)[0].Check(); err == nil {
		t.Error("a hook that came after the beginning runs what the run may have written")
	}
}
