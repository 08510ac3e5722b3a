package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
)

// What max_untracked leaves out is named once for a process, and every command of the
// home leaves it out.
func TestLargeUntrackedFilesAreNamed(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	var notes []string
	w.Config.Note = func(text string) { notes = append(notes, text) }
	h := host.New(w.Config)
	defer h.Close()
	paths, err := h.Paths()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(paths.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(paths.Home, "config.toml")
	if err := os.WriteFile(settings, []byte("max_untracked = '16MiB'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(w.Repo, "recording.raw")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 17<<20); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		repo, err := h.OpenRepo(t.Context(), w.Repo)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := repo.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		snap, err := repo.SnapshotOf(t.Context(), "R", "start", seen)
		if err != nil || !slices.Equal(snap.LeftOut, []string{"recording.raw"}) {
			t.Errorf("the event says %q was left out, %v", snap.LeftOut, err)
		}
		changed, err := repo.Changed(t.Context(), seen.Head, seen.Tree)
		if err != nil || len(changed) > 0 {
			t.Errorf("%v, %v", changed, err)
		}
	}
	const want = "left out of snapshots, being untracked and larger than 16.8 MB (max_untracked): recording.raw; " +
		"what happens to them is not seen, and not undone"
	if !slices.Equal(notes, []string{want}) {
		t.Errorf("notes %q, want one: %q", notes, want)
	}
}
