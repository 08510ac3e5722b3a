// Package outward starts the programs of a person outside of all walls: an editor, a pager.
//
// It must not know what is read or written with them, nor which trees lead to programs of
// others: who calls it has an environment that leads to none.
package outward

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
)

// Command is a program, found on the PATH of the environment (NAME=value) that it is started
// with: that of this process is as it was at its start, and trees have come to be worked on
// since. Err of one that is not found says so.
func Command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/", args...) // a path, so that no PATH is asked
	cmd.Args[0], cmd.Env = name, env
	if cmd.Path, cmd.Err = find(env, name); cmd.Err != nil {
		cmd.Err = &exec.Error{Name: name, Err: cmd.Err}
	}
	return cmd
}

func find(env []string, name string) (string, error) {
	if filepath.IsAbs(name) {
		return exec.LookPath(name) //nolint:wrapcheck // the caller names it
	}
	path := ""
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value // what comes later counts
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || filepath.Base(name) != name {
			continue // it would depend on where one stands
		}
		if at, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return at, nil
		}
	}
	return "", exec.ErrNotFound
}
