package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/scripted"
)

// ended is what a run came to.
type ended struct {
	code      int
	outcome   plan.State // "" where it parked
	evidence  string
	approvals int
	verdicts  int
	questions int    // that reviewers were asked, the first of each review not counted
	told      string // the last verdict's words, or why it parked
	shown     string // to people
	took, cpu time.Duration
}

// approved reports whether a run is a success, or some verdict of it was.
func (e ended) approved() bool { return e.code == 0 || e.approvals > 0 }

// approvedAtOnce reports whether a run was approved, and no reviewer was asked
// a second time.
func (e ended) approvedAtOnce() bool {
	return e.code == 0 && e.outcome == plan.Approved && e.questions == 0
}

// play runs a story with the real program, from the first commit to its end.
// Caches are the settings of go's caches, which a home of its own would not have.
func (s story) play(t *testing.T, caches []string) ended {
	t.Helper()
	dir := t.TempDir()
	repo, home := filepath.Join(dir, "repo"), filepath.Join(dir, "home")
	files := s.files
	if files == nil {
		files = greetFiles()
	}
	write(t, repo, files)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}} {
		git(t, repo, args...)
	}
	if s.made != "" {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", s.made)
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", s.made, err, out)
		}
	}
	if s.config != "" {
		write(t, home, map[string]string{"config.toml": s.config})
	}
	server, err := scripted.Start(context.Background(), s.scenario(), scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()

	cycles := fmt.Sprintf("--max-review-cycles=%d", len(s.more))
	args := slices.Concat(
		[]string{"-C", repo, "run", "--json", "--auto-approve", cycles},
		s.flags,
		[]string{"greet with hello"},
	)
	cmd := exec.CommandContext(t.Context(), program(t), args...)
	cmd.Env = append(os.Environ(),
		"PLAN_HOME="+home, "HOME="+dir, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "PLAN_MODEL="+scripted.Model,
		"OPENAI_BASE_URL="+server.URL(), "OPENAI_API_KEY="+server.Key(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GOFLAGS=-ldflags=-w", "GOPROXY=off", "LANG=C.UTF-8", "WORK="+dir,
	)
	cmd.Env = append(cmd.Env, caches...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begun := time.Now()
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("plan: %v", err)
	}
	out := ending(t, stdout.String())
	out.code, out.took = cmd.ProcessState.ExitCode(), time.Since(begun)
	out.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	out.shown = stderr.String()
	return out
}

// ending reads what a run came to from its events.
func ending(t *testing.T, lines string) ended {
	t.Helper()
	var out ended
	for line := range strings.Lines(lines) {
		var ev plan.Event
		if err := ev.UnmarshalJSON([]byte(line)); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch b := ev.Body.(type) {
		case plan.VerdictGiven:
			out.verdicts++
			if b.Approved {
				out.approvals++
			}
			out.told = b.Why
			for _, m := range b.Missing {
				out.told += "\n" + m.Gap
			}
		case plan.MessageEnd:
			if ev.Phase == plan.Review && b.Role == plan.RoleUser {
				out.questions++
			}
		case plan.Parked:
			out.told = string(b.Reason) + ": " + b.Detail
		case plan.RunEnd:
			out.outcome, out.evidence = b.Outcome, b.Evidence
		}
	}
	out.questions -= out.verdicts
	return out
}
