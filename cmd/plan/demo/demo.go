// Package demo is the run that `plan demo` shows: a small repository with a
// bug, a request to mend it, and what a model says to that. Everything but the
// model is real, and the first answer to the request has a gap that only a
// reviewer who runs the code finds.
//
// The package holds data, puts it in place, and serves what a model says, in data of
// others too. It must not know how a run is started, shown or kept.
package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/plan-engine/plan/model/scripted"
)

// Request is what the demo asks for.
const Request = "Splitting a bill loses cents: 100.00 split three ways adds up to 99.99, " +
	"and TestSplitAddsUp fails. Make Amount.Split keep the rules in the README."

var (
	//go:embed repo.txtar
	repo []byte
	//go:embed scenario.toml
	scenario []byte
)

// Scenario is what the model says. The caller may change it, for example to
// set another delay.
func Scenario() (*scripted.Scenario, error) {
	s, err := scripted.Parse(scenario)
	if err != nil {
		return nil, fmt.Errorf("read the demo's scenario: %w", err)
	}
	return s, nil
}

// Unpack writes the demo's repository into dir and commits it. The directory
// is made if it is missing and must be empty. The commit is the same every
// time, and the user's own git settings and hooks have no part in it.
func Unpack(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("unpack the demo: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("unpack the demo: %s is not empty; name an empty or a new directory", dir)
	}
	for _, f := range txtar.Parse(repo).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("unpack the demo: %w", err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return fmt.Errorf("unpack the demo: %w", err)
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main", "--template="},
		{"config", "user.name", author},
		{"config", "user.email", email},
		{"add", "--all"},
		{"commit", "--quiet", "--message=An amount of money, and a command that splits it"},
	} {
		if err := git(ctx, dir, args...); err != nil {
			return fmt.Errorf("unpack the demo: %w", err)
		}
	}
	return nil
}

// Who the demo's commit is by, and when it was made.
const (
	author = "Demo"
	email  = "demo@example.com"
	date   = "2024-05-01T12:00:00Z"
)

// git runs one git command, which takes milliseconds.
func git(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME="+author, "GIT_AUTHOR_EMAIL="+email, "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME="+author, "GIT_COMMITTER_EMAIL="+email, "GIT_COMMITTER_DATE="+date,
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}
