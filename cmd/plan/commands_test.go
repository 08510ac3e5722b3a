package main

import (
	"bytes"
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
		lines = append(lines, c.name+" --help", "-C somewhere "+c.name+" -h", "help "+c.name)
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
		if got := c.make().Name(); got != c.name {
			t.Errorf("%s makes %s", c.name, got)
		}
		root := a.root()
		if a.addCommands(root, []string{"-C", "x", c.name}); len(root.Commands()) != 1 {
			t.Errorf("for %s %d commands are made", c.name, len(root.Commands()))
		}
	}
	root := &cobra.Command{}
	if a.addCommands(root, nil); len(root.Commands()) != len(a.commands()) {
		t.Errorf("%d commands", len(root.Commands()))
	}
}
