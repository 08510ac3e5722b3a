package host

import (
	"cmp"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/sealed"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools/hook"
	"github.com/plan-engine/plan/worktree"
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
		mine.Command += " || test -e \"$PLAN_TREE\"/calc" // it sees the work, and writes nothing where it was
		repo, err := worktree.Open(t.Context(), c.Dir)
		if err != nil {
			t.Fatal(err)
		}
		outside := &outsideRoom{
			spec:  sealed.Spec{Repo: repo},
			began: func() (string, time.Time) { return "HEAD", time.Time{} },
		}
		defer func() {
			if err := outside.close(); err != nil {
				t.Error(err)
			}
		}()
		runner, err := hook.New(hook.Config{
			Hooks: hooksOf(c.Dir, os.Getenv("PATH"), append(hooks, mine), outside),
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
			{event: hook.SessionEnd, free: true},
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
	one := func(name, text string) map[string]string { return map[string]string{name: text} }
	for name, test := range map[string]struct {
		command string
		path    string // PATH
		change  map[string]string
		remove  string
		runs    bool
		event   string
	}{
		"as it was":          {command: "sh may-edit", runs: true},
		"rewritten":          {command: "sh may-edit", change: one("may-edit", "exit 0\n")},
		"a library":          {command: ". lib/all", change: one("lib/all", "exit 0\n")},
		"new":                {command: "test ! -e made || ./made", change: one("made", "#!/bin/sh\n")},
		"gone":               {command: "test ! -x may-edit || ./may-edit", remove: "may-edit"},
		"in a folder":        {command: "cd lib && sh all", change: one("lib/all", "exit 0\n")},
		"something else":     {command: "sh may-edit", change: one("other", "x\n"), runs: true},
		"what it looks at":   {command: "grep -q a other", change: one("other", "a\n"), runs: true},
		"outside the tree":   {command: "/bin/true", change: one("may-edit", "x\n"), runs: true},
		"through a link":     {command: "sh linked", change: one("may-edit", "exit 0\n")},
		"a variable PATH":    {command: "PATH=lib:$PATH; all", change: one("lib/all", "exit 0\n")},
		"a folder of PATH":   {command: "tool", path: "ROOT/bin", change: one("bin/tool", "#!/bin/true\n")},
		"PATH as it was":     {command: "tool", path: "ROOT/bin", runs: true},
		"one by one, new":    {command: "tool2", path: "/bin:bin", change: one("bin/tool2", "#!/bin/true\n")},
		"env -S":             {command: `env -S "sh may-edit"`, change: one("may-edit", "exit 0\n")},
		"an option":          {command: "bash --rcfile may-edit -ic true", change: one("may-edit", "exit 0\n")},
		"without its ending": {command: "node judge", change: one("judge.js", "process.exit(0)\n")},
		"a folder's main":    {command: "node tools", change: one("tools/index.js", "process.exit(0)\n")},
		"a package":          {command: "python3 -m tools.judge", change: one("tools/__init__.py", "exit()\n")},
		"make":               {command: "make -s x", change: one("Makefile", "x:\n\ttrue\n")},
		"another makefile":   {command: "make -s x", change: one("GNUmakefile", "x:\n\ttrue\n")},
		"make elsewhere":     {command: "make -C lib", change: one("lib/makefile", "x:\n\ttrue\n")},
		"make behind env":    {command: "env A=b timeout 5 make x", change: one("Makefile", "x:\n\ttrue\n")},
		"npm":                {command: "npm run -s judge", change: one("package.json", "{}\n")},
		"npx":                {command: "npx judge", change: one("node_modules/.bin/judge", "#!/bin/true\n")},
		"just":               {command: "just judge", change: one("justfile", "judge:\n")},
		"task":               {command: "task judge", change: one("Taskfile.yml", "x: y\n")},
		"cargo":              {command: "cargo check", change: one("build.rs", "fn main() {}\n")},
		"a linter's program": {command: "eslint src", change: one("eslint.config.js", "exit()\n")},
		"make of one that tells": {
			command: "make -s x",
			event:   hook.PostToolUse,
			change:  one("Makefile", "x:\n\ttrue\n"),
			runs:    true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			gittest.Write(t, root, map[string]string{
				"may-edit":          "true\n",
				"lib/all":           "true\n",
				"other":             "a b\n",
				"Makefile":          "x:\n\t@true\n",
				"bin/tool":          "#!/bin/false\n",
				"judge.js":          "process.exit(1)\n",
				"tools/index.js":    "process.exit(1)\n",
				"tools/__init__.py": "",
				"tools/judge.py":    "exit(1)\n",
				"package.json":      `{"scripts": {"judge": "false"}}`,
				"justfile":          "judge:\n\tfalse\n",
			})
			if err := os.Symlink("may-edit", filepath.Join(root, "linked")); err != nil {
				t.Fatal(err)
			}
			runnable := func() {
				for _, name := range []string{"bin/tool", "bin/tool2"} {
					if err := os.Chmod(filepath.Join(root, name), 0o700); err != nil && !os.IsNotExist(err) {
						t.Fatal(err)
					}
				}
			}
			runnable()
			searched := strings.ReplaceAll(test.path, "ROOT", root)
			from := []config.Hook{{
				Event:   cmp.Or(test.event, hook.PreToolUse),
				Command: test.command,
				From:    config.FromUser,
			}}
			pinned, err := pinHooks(root, searched, from)
			if err != nil {
				t.Fatal(err)
			}
			gittest.Write(t, root, test.change)
			runnable()
			if test.remove != "" {
				if err := os.Remove(filepath.Join(root, test.remove)); err != nil {
					t.Fatal(err)
				}
			}
			resumed := keepPins(from, pinned) // as another process finds them
			for _, hooks := range [][]config.Hook{pinned, resumed} {
				_, err := hooksOf(root, searched, hooks, nil)[0].Check()
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
	if _, err := hooksOf(root, "", added, nil)[0].Check(); err == nil {
		t.Error("a hook that came after the beginning runs what the run may have written")
	}
}

// TestAHookWhoseProgramChangesMeanwhile: what it says does not count, also where the
// program is as it was when it ends.
func TestAHookWhoseProgramChangesMeanwhile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	gittest.Write(t, root, map[string]string{"judge": "true\n", "twin": "true\n"})
	for command, want := range map[string]bool{
		"sh judge": true,
		"sh judge; cp judge was; echo exit 0 > judge; cat was > judge":   false,
		"sh judge; mv judge was; cp was judge; mv was judge; sh ./judge": false,
		"sh judge; echo true > made-by-it":                               true,
	} {
		pinned, err := pinHooks(root, "", []config.Hook{{
			Event:   hook.PreToolUse,
			Command: command,
			From:    config.FromUser,
		}})
		if err != nil {
			t.Fatal(err)
		}
		runner, err := hook.New(hook.Config{
			Hooks: hooksOf(root, "", pinned, nil),
			Dir:   root,
			Env:   os.Environ(),
			Path:  os.Getenv("PATH"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, rep := range runner.Each(t.Context(), hook.Input{Event: hook.PreToolUse}, nil) {
			if rep.OK() != want || (!want && !strings.Contains(rep.Why(), "was changed while it ran")) {
				t.Errorf("%s: %v", command, rep.Why())
			}
		}
	}
}
