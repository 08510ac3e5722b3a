package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// dieInImplement leaves the home as a process does that is killed in an Implement
// which may commit, in a repository that is as it is now.
func dieInImplement(t *testing.T, w *hosttest.World) {
	t.Helper()
	repo, err := worktree.Open(t.Context(), w.Repo)
	if err != nil {
		t.Fatal(err)
	}
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(w.Dir, "home")
	opened, err := walls.New(t.Context(), walls.Config{
		Settings:   config.Config{Sandbox: "off", AllowCommit: true},
		Repo:       func() *worktree.Repo { return repo },
		Shell:      shell,
		Env:        w.Config.Environ,
		Home:       home,
		Now:        time.Now,
		Note:       func(string) {},
		Background: func(work func()) { work() },
	})
	if err != nil {
		t.Fatal(err)
	}
	room, err := opened.PhaseRoom(t.Context(), plan.Implement, plan.Trees{})
	if err != nil {
		t.Fatal(err)
	}
	starts := walls.StartsIn(home)
	records, err := filepath.Glob(filepath.Join(starts, "*.start"))
	if err != nil || len(records) != 1 {
		t.Fatalf("%v, %v", records, err)
	}
	text, err := os.ReadFile(records[0])
	if err := errors.Join(err, room.Close()); err != nil {
		t.Fatal(err)
	}
	gittest.Write(t, starts, map[string]string{"killed.start": string(text)}) // no process has its lock
}

// Whatever is done next in a repository whose Implement was killed, what decides what
// git runs is put back before, or the repository is refused.
func TestWhatAKilledImplementLeftDoesNotCount(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	var notes []string
	w.Config.Note = func(text string) { notes = append(notes, text) }
	settings := filepath.Join(w.Repo, ".git/config")
	before, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	// No program of the tree: only what was there at the start says that it must not run.
	const evil = "[filter \"evil\"]\n\tclean = touch ../ran; cat\n"
	run := &engine.Run{
		ID:        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
		State:     plan.Approved,
		Start:     &plan.RunStart{Repo: w.Repo, Base: gittest.Git(t, w.Repo, "rev-parse", "HEAD")},
		Snapshots: []plan.Snapshot{{Tree: gittest.Git(t, w.Repo, "rev-parse", "HEAD^{tree}")}},
	}
	for _, does := range []struct {
		name string
		do   func(h *host.Host) error
	}{
		{"open", func(h *host.Host) error { _, err := h.OpenRepo(t.Context(), w.Repo); return err }},
		{"change", func(h *host.Host) error { _, err := h.ChangeOf(t.Context(), run); return err }},
		{"apply", func(h *host.Host) error { _, err := h.Apply(t.Context(), run, host.Apply{}); return err }},
		{"restore", func(h *host.Host) error {
			_, err := h.Restore(t.Context(), run, host.Restore{To: "1"})
			return err
		}},
		{"undo", func(h *host.Host) error { _, err := h.Restore(t.Context(), run, host.Restore{Undo: true}); return err }},
		{"newest", func(h *host.Host) error { _, err := h.Newest(t.Context(), w.Repo, false); return err }},
		{"due", func(h *host.Host) error { _, err := h.Due(t.Context(), w.Repo); return err }},
		{"list", func(h *host.Host) error { _, err := h.Runs(t.Context(), host.Filter{Dir: w.Repo}); return err }},
		{"trust", func(h *host.Host) error { _, err := h.TrustOf(t.Context(), w.Repo, ""); return err }},
		{"run", func(h *host.Host) error {
			_, err := h.Run(t.Context(), host.Request{Dir: w.Repo, Text: "Say hello"}, host.Face{})
			return err
		}},
	} {
		dieInImplement(t, w)
		gittest.Write(t, w.Repo, map[string]string{".git/config": string(before) + evil, ".git/info/attributes": "* filter=evil\n"})
		gittest.Write(t, w.Repo, map[string]string{"more": does.name})
		notes = nil
		h := host.New(w.Config)
		err := does.do(h)
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		after, readErr := os.ReadFile(settings)
		if string(after) != string(before) || readErr != nil {
			t.Errorf("%s: the settings are %s, %v (%v)", does.name, after, readErr, err)
		}
		if !strings.Contains(strings.Join(notes, "\n"), ".git/config") {
			t.Errorf("%s: nothing is said of it: %q (%v)", does.name, notes, err)
		}
		if _, err := os.Lstat(filepath.Join(w.Dir, "ran")); err == nil {
			t.Fatalf("%s: what was left ran", does.name)
		}
	}

	dieInImplement(t, w)
	if err := os.Rename(filepath.Join(w.Repo, ".git"), filepath.Join(w.Dir, "git")); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, w.Repo, "clone", "-q", "--bare", filepath.Join(w.Dir, "git"), ".git")
	gittest.Git(t, w.Repo, "config", "core.bare", "false")
	h := host.New(w.Config)
	defer func() { _ = h.Close() }()
	var refused *sandbox.StartError
	if _, err := h.OpenRepo(t.Context(), w.Repo); !errors.As(err, &refused) {
		t.Errorf("another repository in its place: %v", err)
	}
	if err := os.Remove(refused.Record); err != nil {
		t.Fatal(err)
	}
	if _, err := h.OpenRepo(t.Context(), w.Repo); err != nil {
		t.Errorf("without the record: %v", err)
	}
}

// A filter that does not count is told of when a run begins.
func TestASkippedFilterIsToldOf(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	gittest.Git(t, w.Repo, "config", "filter.ours.clean", "./greet.sh")
	var notes []string
	w.Config.Note = func(text string) { notes = append(notes, text) }
	h := host.New(w.Config)
	defer func() { _ = h.Close() }()
	_, err := h.Run(t.Context(), host.Request{Dir: w.Repo, Text: "Say hello"}, host.Face{})
	if got := strings.Join(notes, "\n"); !strings.Contains(got, "filter.ours.clean") {
		t.Errorf("the notes are %q (%v)", got, err)
	}
}
