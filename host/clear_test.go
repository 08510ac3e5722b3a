package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/doctor"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/internal/outward"
	"github.com/plan-engine/plan/skills/auto"
)

// A process that has driven a run in one tree finds in another neither git nor a shell in
// the first, whose folder the PATH named before any run was there: its commands may.
func TestNoProgramComesFromATreeWorkedOnSince(t *testing.T) {
	const programs = `
[[reply]]
phase = "implement"
about = "Write programs"
turn = 0
  [[reply.call]]
  name = "bash"
  args = { command = '''echo echo hello > greet.sh; mkdir bin
    printf '#!/bin/sh\necho "$0" >>"${0%%/*}/../../ran"\nexit 1\n' > bin/git; chmod +x bin/git; cp bin/git bin/bash
    printf '#!/bin/sh\necho hello\n' > bin/greeting; chmod +x bin/greeting''' }

[[reply]]
phase = "implement"
about = "from the other"
turn = 0
  [[reply.call]]
  name = "bash"
  args = { command = "echo echo $(greeting) > greet.sh" }
`
	w := hosttest.New(t, programs)
	path := filepath.Join(w.Repo, "bin") + ":" + os.Getenv("PATH")
	t.Setenv("PATH", path)
	w.Config.Environ = append(w.Config.Environ, "PATH="+path)
	other := filepath.Join(w.Dir, "other")
	gittest.Git(t, w.Dir, "clone", "-q", w.Repo, other)
	gittest.Write(t, w.Dir, map[string]string{"home/config.toml": "sandbox = \"off\"\nexplore_bash = false\n" +
		"[[hooks]]\nevent = \"pre_tool_use\"\ncommand = \"true\"\noutside = true\n"})
	h := host.New(w.Config)
	defer h.Close()
	var last plan.RunID
	for _, r := range []host.Request{
		{Dir: w.Repo, Text: "Write programs, and make greet.sh say hello"},
		{Dir: other, Text: "Make greet.sh say hello with a program from the other"},
	} {
		end, err := h.Run(t.Context(), r, host.Face{})
		if err != nil || end.State != plan.Approved {
			t.Fatalf("%s: %+v, %v", r.Text, end, err)
		}
		last = end.Run
	}
	found := map[string]doctor.Finding{}
	for _, f := range doctor.New(t.Context(), h, other).All(t.Context(), doctor.Probe{Model: "none"}) {
		found[f.Name] = f
	}
	for _, name := range []string{"git", "shell", "repository", "environment"} {
		if f := found[name]; !f.OK || strings.Contains(f.Detail, w.Repo) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	learned, err := h.Learning(t.Context(), config.Config{}, other)
	if err != nil {
		t.Fatal(err)
	}
	task := auto.Draft{Dir: t.TempDir()}
	task.Meta.Runs = []plan.RunID{last}
	tree := ""
	_, _ = learned.Measure(t.Context(), task, func(_ context.Context, trial learning.Trial, _ func(plan.Event)) error {
		tree = trial.Tree
		return nil // there is no review to be scored
	})
	if tree == "" {
		t.Error("nothing was measured")
	}
	if cmd := outward.Command(t.Context(), h.Clear(t.Context(), other), "greeting"); cmd.Err == nil {
		t.Errorf("a person reads and writes with %s", cmd.Path)
	}
	if ran, err := os.ReadFile(filepath.Join(w.Dir, "ran")); err == nil {
		t.Errorf("these ran:\n%s", ran)
	}
}
