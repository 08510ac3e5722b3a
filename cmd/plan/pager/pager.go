// Package pager shows long texts on a terminal through the program that the user reads
// them with.
//
// It must not know what the texts are.
package pager

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/plan-engine/plan/internal/outward"
)

// usual is the pager where the user names none, as far as it is there, and usualWays
// how it is told to behave where the user has not said so: it ends by itself at a text
// that fits on the screen, shows colours, and leaves the text on the screen.
const (
	usual     = "less"
	usualWays = "LESS=FRX"
)

// Of is the command line of the user's pager: the first that is set of PAGER in env
// (NAME=value) and less. It is "" for none: PAGER is empty, or "cat", or TERM is dumb.
func Of(env []string) string {
	values := map[string]string{"PAGER": usual}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = strings.TrimSpace(value)
	}
	if values["PAGER"] == "cat" || values["TERM"] == "dumb" {
		return ""
	}
	return values["PAGER"]
}

// Colours reports whether a pager draws changes in colours of its own, and is to be
// given them plain.
func Colours(command string) bool {
	program, _, _ := strings.Cut(command, " ")
	return slices.Contains([]string{"delta", "diff-so-fancy", "bat", "batcat"}, filepath.Base(program))
}

// needed is what a pager needs of an environment, in which keys may be too.
func needed(env []string) []string {
	out := []string{usualWays} // what comes later counts
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(variables, name) ||
			slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			out = append(out, entry)
		}
	}
	return out
}

// variables and prefixes are names of what pagers, and terminals, are told by.
var (
	variables = []string{
		"PATH", "HOME", "USER", "TERM", "COLORTERM", "COLUMNS", "LINES", "LANG", "LANGUAGE", "TMPDIR",
		"XDG_CONFIG_HOME",
	}
	prefixes = []string{"LC_", "LESS", "DELTA_", "BAT_", "TERMINFO"}
)

// Through has work write to a pager, which shows the text on out, a terminal, and returns
// once the person has left it. Where it cannot be started, or command is "" or a path that
// depends on where one stands, work writes to out itself. That the person leaves before the
// end is no error, and Ctrl-C is the pager's while it runs.
func Through(ctx context.Context, out io.Writer, command string, env []string, work func(io.Writer) error) error {
	words := strings.Fields(command)
	if len(words) == 0 {
		return work(out)
	}
	cmd := outward.Command(ctx, needed(env), words[0], words[1:]...)
	cmd.Dir = "/" // a repository where it stands may say what it is to run
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return work(out)
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	if err := cmd.Start(); err != nil {
		return work(out)
	}
	err = work(pipe)
	if errors.Is(err, syscall.EPIPE) {
		err = nil
	}
	closed := pipe.Close()
	if errors.Is(closed, os.ErrClosed) {
		closed = nil
	}
	_ = cmd.Wait() // its status says nothing of the text
	return errors.Join(err, closed)
}
