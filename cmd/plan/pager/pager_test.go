package pager_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/cmd/plan/pager"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for want, env := range map[string][]string{
		"less":       {"TERM=xterm"},
		"less -R":    {"PAGER=less -R"},
		"delta":      {"PAGER=more", "PAGER=delta"},
		"most -s +u": {"PAGER= most -s +u "},
	} {
		if got := pager.Of(env); got != want {
			t.Errorf("%q: %q, want %q", env, got, want)
		}
	}
	for _, env := range [][]string{{"PAGER="}, {"PAGER=cat"}, {"TERM=dumb", "PAGER=less"}} {
		if got := pager.Of(env); got != "" {
			t.Errorf("%q: %q", env, got)
		}
	}
	if !pager.Colours("/opt/bin/delta --dark") || pager.Colours("less -R") {
		t.Error("who draws colours is not told apart")
	}
}

// The pager gets the text and writes to the terminal; one that is not there, or leaves
// early, loses nothing and is no error, but an error of the work is.
func TestThrough(t *testing.T) {
	t.Chdir(t.TempDir())
	failed := errors.New("failed")
	if err := os.WriteFile("pager.sh", []byte("#!/bin/sh\necho evil\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a line\n", 100_000)
	for name, c := range map[string]struct { //nolint:paralleltest // they stand in the folder of the test
		command, text, want string
		err                 error
	}{
		"a pager":                {"tr a b", "a\n", "b\n", nil},
		"none":                   {"", "a\n", "a\n", nil},
		"one not there":          {"no-such-pager -R", "a\n", "a\n", nil},
		"one that fails":         {"false", "", "", nil},
		"left early":             {"head -n 1", long, "a line\n", nil},
		"its environment":        {"env", "", "", nil},
		"where it runs":          {"pwd", "", "/\n", nil},
		"one of where it stands": {"./pager.sh", "a\n", "a\n", nil},
		"a failed work":          {"tr a b", "a\n", "b\n", failed},
	} {
		t.Run(name, func(t *testing.T) {
			terminal, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = terminal.Close() }()
			err = pager.Through(context.Background(), terminal, c.command, append(os.Environ(), "OPENAI_API_KEY=k"), func(w io.Writer) error {
				if _, err := io.WriteString(w, c.text); err != nil {
					return err
				}
				return c.err
			})
			if !errors.Is(err, c.err) {
				t.Errorf("%v, want %v", err, c.err)
			}
			got, _ := os.ReadFile(terminal.Name())
			if c.command == "env" {
				if !strings.Contains(string(got), "LESS=FRX") || strings.Contains(string(got), "KEY") {
					t.Errorf("the pager is told %s", got)
				}
				return
			}
			if string(got) != c.want {
				t.Errorf("the terminal shows %.80q, want %.80q", got, c.want)
			}
		})
	}
}
