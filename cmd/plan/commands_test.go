package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// says is what plan answers to args when it has all of its commands, or those
// that it makes for them.
func says(t *testing.T, all bool, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &out, now: time.Now}
	a.host = a.newHost()
	root := a.root()
	if all {
		a.addCommands(root, nil)
	} else {
		a.addCommands(root, args)
	}
	root.SetArgs(args)
	if err := root.ExecuteContext(t.Context()); err != nil {
		out.WriteString(err.Error())
	}
	return out.String()
}

// TestNobodySeesWhichCommandsAreMade: help, completion and what is wrong with a
// command line are the same as if all commands were always there.
func TestNobodySeesWhichCommandsAreMade(t *testing.T) {
	t.Parallel()
	lines := []string{
		"", "--help", "help", "help run", "help batch run", "-C run", "-C list --help", "--json", "version", "version --json",
		"batch", "batch run --help", "batch lst", "rn", "lst run", "run --no-such-flag", "--no-such-flag", "--no-such-flag run",
		"completion", "__complete ru", "__complete run --pl", "__complete batch r", "__complete -C run sh", "__complete help ru",
		"graph now", "-C", "worktree list list",
	}
	for _, c := range (&app{}).commands() {
		lines = append(lines, c.Name+" --help", "-C somewhere "+c.Name+" -h", "help "+c.Name)
	}
	for _, line := range lines {
		if diff := cmp.Diff(says(t, true, strings.Fields(line)...), says(t, false, strings.Fields(line)...)); diff != "" {
			t.Errorf("plan %s (-with all commands +with its own):\n%s", line, diff)
		}
	}
}

func TestCommandsAreListedByTheirNames(t *testing.T) {
	t.Parallel()
	a := &app{}
	for _, c := range a.commands() {
		if got := c.Make().Name(); got != c.Name {
			t.Errorf("%s makes %s", c.Name, got)
		}
		root := a.root()
		if a.addCommands(root, []string{"-C", "x", c.Name}); len(root.Commands()) != 1 {
			t.Errorf("for %s %d commands are made", c.Name, len(root.Commands()))
		}
	}
	root := &cobra.Command{}
	if a.addCommands(root, nil); len(root.Commands()) != len(a.commands()) {
		t.Errorf("%d commands", len(root.Commands()))
	}
}

// TestFewerWords: old names work and say what they are now, a wrong word is told the one
// that is near, and help shows what one needs first.
func TestFewerWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"shwo":                      `unknown command "shwo" for "plan"; did you mean plan show?`,
		"batch resmue":              `unknown command "resmue" for "plan batch"; did you mean plan batch resume?`,
		"frobnicate":                `unknown command "frobnicate" for "plan"`,
		"run --max-cots 2":          "unknown flag: --max-cots; did you mean --max-cost?",
		"run --sandbx off":          "did you mean --sandbox?",
		"graph":                     "note: `plan graph` is now `plan show --graph`",
		"--version":                 "plan version devel",
		"__complete run --w":        "--way\t",
		"__complete run --way f":    "full\n",
		"__complete show --phase c": "critique\n",
	} {
		if got := says(t, false, strings.Fields(line)...); !strings.Contains(got, want) {
			t.Errorf("plan %s says %q, without %q", line, got, want)
		}
	}
	help := says(t, false, "--help")
	for _, group := range []string{"Start and go on:", "Say and decide:", "Look:", "Take over and keep:"} {
		if !strings.Contains(help, group) {
			t.Errorf("help has no group %q: %s", group, help)
		}
	}
	for _, old := range []string{"steer", "follow-up", "answer", "events", "graph", "backup", "export", "import", "gc"} {
		if strings.Contains(help, "\n  "+old+" ") {
			t.Errorf("help shows %s", old)
		}
	}
	short := strings.Count(says(t, false, "run", "--help"), "\n      --")
	if short >= 20 || short < 12 {
		t.Errorf("the help of run shows %d flags", short)
	}
	if more := "`plan batch run --help-all`"; !strings.Contains(says(t, false, "batch", "run", "--help"), more) {
		t.Errorf("the help of batch run does not say %s", more)
	}
	a := &app{helpAll: true, now: time.Now}
	root := a.root()
	if a.addCommands(root, []string{"run"}); root.Commands()[0].Flag("sandbox").Hidden {
		t.Error("--help-all hides a flag")
	}
}

// TestManual: each command that is in the help has a page, with all of its flags.
func TestManual(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if said := says(t, false, "__man", dir); said != "" {
		t.Fatal(said)
	}
	for name, want := range map[string]string{"plan.1": "PLAN_HOME", "plan-run.1": `max\-tokens`, "plan-journal-gc.1": "plan journal gc"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %q: %v", name, want, err)
		}
	}
	eachCommand(wholeRoot(), func(cmd *cobra.Command) {
		if cmd.Hidden || strings.HasPrefix(cmd.CommandPath(), "plan completion") || cmd.Name() == "help" {
			return
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	})
}
