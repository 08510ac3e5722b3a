package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
)

// mostGit is how many processes of git a run may take that is approved at once, besides
// those that see what it works in before it knows where the repository is. They are counted
// and not timed: each takes longer to start than to answer, on any machine.
const mostGit = 34

// A run from its start to a verdict asks git no more often than it has to.
func TestARunTakesFewProcessesOfGit(t *testing.T) {
	w := hosttest.New(t)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(w.Repo, ".git", "log") // git itself may write there, and in few other places
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" 2>/dev/null >>'%s'\nexec '%s' \"$@\"\n", log, real)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	path := dir + string(filepath.ListSeparator) + os.Getenv("PATH")
	t.Setenv("PATH", path)
	w.Config.Environ = append(w.Config.Environ, "PATH="+path)
	h := host.New(w.Config)
	defer h.Close()
	end, err := h.Run(t.Context(), host.Request{
		Dir:  w.Repo,
		Text: "Make greet.sh say hello",
		Options: host.Options{
			Settings: config.Config{Checks: config.ChecksConfig{Required: []string{"sh greet.sh | grep -qx hello"}}},
		},
	}, host.Face{})
	if err != nil || end.State != plan.Approved {
		t.Fatalf("%+v, %v", end, err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n == 0 || n > mostGit {
		t.Errorf("git was started %d times, and %d are enough:\n%s", n, mostGit, text)
	}
}
