package hosttest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/gittest"
)

// Elsewhere has a run made in a home of its own, and takes it in to that of the world. Its
// journal names the repository of the world.
func (w *World) Elsewhere(t testing.TB, r host.Request) plan.RunID {
	t.Helper()
	first := host.New(w.other("elsewhere"))
	end, err := first.Run(t.Context(), r, host.Face{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.Dir, string(end.Run)+".jsonl")
	if _, err := first.ExportFile(t.Context(), end.Run, file, false); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	w.TakeIn(t, file)
	return end.Run
}

// other is the world with a home of that name.
func (w *World) other(home string) host.Config {
	c := w.Config
	c.Environ = append(slices.Clone(c.Environ), "PLAN_HOME="+filepath.Join(w.Dir, home))
	return c
}

// TakeIn takes in to the home of the world the run that a file holds.
func (w *World) TakeIn(t testing.TB, file string) {
	t.Helper()
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	h := host.New(w.Config)
	_, err = h.Import(t.Context(), text)
	if err := errors.Join(err, text.Close(), h.Close()); err != nil {
		t.Fatal(err)
	}
}

// Leave has the world go on in a repository of another name, and returns the one that it
// leaves, with what tells what there could be changed in it.
func (w *World) Leave(t testing.TB) (left string, state func() string) {
	t.Helper()
	left, w.Repo = w.Repo, filepath.Join(w.Dir, "mine")
	if err := w.commitGreet(); err != nil {
		t.Fatal(err)
	}
	return left, func() (out string) {
		t.Helper()
		for _, args := range [][]string{{"for-each-ref"}, {"status", "--porcelain"}, {"worktree", "list"}} {
			out += gittest.Git(t, left, args...) + "\n"
		}
		return out
	}
}
