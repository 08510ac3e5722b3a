package host_test

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/memory"
)

//go:embed testdata/continue.toml
var goOn string

// thread is a run that says hello, and one that goes on from its end and says bye.
type thread struct {
	*hosttest.World
	h           *host.Host
	first, next *engine.Run
}

// newThread plays both. Between the letter and the second run the process dies, and then
// several try to go on with it at once.
func newThread(t *testing.T, ownTree bool) *thread {
	t.Helper()
	w := hosttest.Play(t, goOn)
	th := &thread{World: w}
	h := host.New(w.Config)
	request := host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"}
	request.Settings = config.Config{Worktree: &ownTree, MaxTurns: 7}
	end, err := h.Run(t.Context(), request, host.Face{})
	if err != nil || end.State != plan.Approved {
		t.Fatalf("%+v: %v", end, err)
	}
	th.first = load(t, h, end.Run)
	if ownTree {
		if gone, err := h.RemoveWorkTree(t.Context(), th.first); err != nil || !gone {
			t.Fatalf("%v, %v", gone, err)
		}
	}
	told, err := h.Tell(t.Context(), end.Run, host.Letter{Text: "Also say bye"})
	if err != nil || told.Continuation == "" || told.Kind != host.Steer {
		t.Fatalf("%+v: %v", told, err)
	}
	if _, waiting, err := h.ContinuedBy(t.Context(), end.Run); err != nil || len(waiting) != 1 {
		t.Errorf("%v waits, %v", waiting, err)
	}
	th.staysFor(t, h, end.Run, told.Continuation)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	th.h = host.New(w.Config)
	t.Cleanup(func() { _ = th.h.Close() })
	id, err := th.h.Resolve(t.Context(), string(told.Continuation))
	if err != nil || id != told.Continuation {
		t.Fatalf("%s: %v", id, err)
	}
	var drove int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			end, err := th.h.Resume(t.Context(), id, host.Options{}, host.Face{})
			mu.Lock()
			defer mu.Unlock()
			if err == nil && end.State == plan.Approved {
				drove++
			}
		})
	}
	all.Wait()
	var final *host.FinalError
	if _, err := th.h.Resume(t.Context(), id, host.Options{}, host.Face{}); drove != 1 || !errors.As(err, &final) {
		t.Fatalf("%d drove the run to its end; then: %v", drove, err)
	}
	if err := th.h.BeginAgain(t.Context(), id); !errors.As(err, &final) {
		t.Errorf("who comes too late to begin it: %v", err)
	}
	th.next = load(t, th.h, id)
	return th
}

// staysFor: what another run is to go on from is not removed, by whichever name that one
// is called, and lists show both.
func (th *thread) staysFor(t *testing.T, h *host.Host, first, next plan.RunID) {
	t.Helper()
	if gone, err := h.GC(t.Context(), host.GCPolicy{KeepAlone: true}, false, false, nil); err != nil || len(gone.Removed) > 0 {
		t.Fatalf("gc removed %v: %v", gone.Removed, err)
	}
	db, err := h.DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := db.Hide(t.Context(), first); !errors.Is(err, memory.ErrUnfinished) || len(gone) > 0 {
		t.Errorf("removed between the look and the removal: %v, %v", gone, err)
	}
	if id, err := h.Resolve(t.Context(), strings.ToLower(next.Short())); err != nil || id != next {
		t.Errorf("%s is %s: %v", next.Short(), id, err)
	}
	th.listed(t, h, first, 1, 1)
}

// listed: a thread is one in a list, and whole around each of its runs.
func (th *thread) listed(t *testing.T, h *host.Host, newest plan.RunID, runs, waiting int) {
	t.Helper()
	all, err := h.Runs(t.Context(), host.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := h.AsThreads(t.Context(), all)
	if err != nil || len(list) != 1 || list[0].ID != newest || list[0].Runs != runs || list[0].Waiting != waiting {
		t.Errorf("%+v: %v", list, err)
	}
	for _, r := range all {
		around, err := h.Around(t.Context(), r.ID)
		if err != nil || len(around) != runs+waiting || around[0].Request != "Make greet.sh say hello" ||
			around[1].Request != "Also say bye" || around[1].Begun != (waiting == 0) {
			t.Errorf("around %s: %+v: %v", r.ID, around, err)
		}
	}
}

func load(t *testing.T, h *host.Host, id plan.RunID) *engine.Run {
	t.Helper()
	run, err := h.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func (th *thread) greeting(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "greet.sh"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\n", ";")
}

// diff is what a run changed, or with all that it continues.
func (th *thread) diff(t *testing.T, whole bool) string {
	t.Helper()
	change, err := th.h.ChangeOf(t.Context(), th.next)
	if whole {
		change, _, err = th.h.ThreadChangeOf(t.Context(), th.next)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := change.Diff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestWhatAFinalRunIsToldGoesOn: one letter begins one run, however often that is tried.
// It works where the first one did, with what came of that as data, and counts from there.
func TestWhatAFinalRunIsToldGoesOn(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"in place": false, "in a tree that was removed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			th := newThread(t, own)
			start := th.next.Start
			if start.Continues != th.first.ID || start.Request != "Also say bye" || start.Origin() != th.first.Tree() {
				t.Errorf("it begins with %+v", start)
			}
			if start.Worktree != th.first.Start.Worktree || start.WorkBranch != th.first.Start.WorkBranch {
				t.Errorf("it works in %q on %q", start.Worktree, start.WorkBranch)
			}
			for _, part := range []string{
				"ended approved", "<earlier-request>\nMake greet.sh say hello\n", "# Plan: Say hello", "+echo hello",
			} {
				if !strings.Contains(start.Before, part) {
					t.Errorf("%q is not in what it is told: %s", part, start.Before)
				}
			}
			if !strings.Contains(string(start.Config), `"max_turns":7`) {
				t.Errorf("its settings are %s", start.Config)
			}
			for _, r := range th.Model.Requests() {
				if strings.Contains(string(r.Body), "Also say bye") && !strings.Contains(string(r.Body), "earlier-change") {
					t.Errorf("a phase reads nothing of the earlier run: %.300s", r.Body)
				}
			}
			runs, err := th.h.Runs(t.Context(), host.Filter{})
			if err != nil || len(runs) != 2 {
				t.Errorf("%d runs, %v", len(runs), err)
			}
			from, err := th.h.Threads(t.Context())
			if err != nil || from[th.next.ID] != th.first.ID {
				t.Errorf("%v, %v", from, err)
			}
			th.listed(t, th.h, th.next.ID, 2, 0)
			if got := th.diff(t, false); strings.Contains(got, "-echo hullo") || !strings.Contains(got, "+echo bye") {
				t.Errorf("it changed %s", got)
			}
			if got := th.diff(t, true); !strings.Contains(got, "-echo hullo") || !strings.Contains(got, "+echo bye") {
				t.Errorf("the thread changed %s", got)
			}
			for range 2 {
				branch, got := th.commits(t)
				if got != "Make greet.sh say hello:echo hello;echo bye " || branch != start.WorkBranch && own {
					t.Errorf("%s has %q", branch, got)
				}
			}
			if own {
				th.bringOver(t)
			} else {
				th.takeBack(t)
			}
		})
	}
}

// bringOver applies the whole thread, after which the tree that its runs share can go.
func (th *thread) bringOver(t *testing.T) {
	t.Helper()
	trees, err := th.h.WorkTrees(t.Context(), false)
	if err != nil || len(trees) != 1 || trees[0].Safe || !trees[0].Clean {
		t.Errorf("%+v: %v", trees, err)
	}
	if _, err := th.h.Apply(t.Context(), th.next, host.Apply{}); err == nil {
		t.Error("the last change alone fits a file that does not have the first")
	}
	moved, err := th.h.Apply(t.Context(), th.next, host.Apply{Thread: true})
	if got := th.greeting(t, th.Repo); err != nil || got != "echo hello;echo bye;" {
		t.Errorf("%+v: %v: %s", moved, err, got)
	}
	if trees, err := th.h.WorkTrees(t.Context(), true); err != nil || len(trees) != 1 || !trees[0].Removed {
		t.Errorf("%+v: %v", trees, err)
	}
}

// commits are the subjects of the commits that the branch of the thread has more than
// main, each with what greet.sh says there.
func (th *thread) commits(t *testing.T) (branch, said string) {
	t.Helper()
	branch, _, err := th.h.CommitThread(t.Context(), th.next, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, commit := range strings.Fields(gittest.Git(t, th.Repo, "rev-list", "--reverse", "main.."+branch)) {
		said += gittest.Git(t, th.Repo, "log", "-1", "--format=%s", commit) + ":" +
			strings.ReplaceAll(gittest.Git(t, th.Repo, "show", commit+":greet.sh"), "\n", ";") + " "
	}
	return branch, said
}

// takeBack restores what the whole thread changed, but not what another wrote meanwhile.
func (th *thread) takeBack(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(th.Repo, "mine"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := th.h.Restore(t.Context(), th.next, host.Restore{To: engine.LabelStart})
	if got := th.greeting(t, th.Repo); err != nil || got != "echo hello;" {
		t.Errorf("%v: %s", err, got)
	}
	if _, err = th.h.Restore(t.Context(), th.next, host.Restore{Undo: true}); err != nil {
		t.Error(err)
	}
	_, err = th.h.Restore(t.Context(), th.next, host.Restore{To: engine.LabelStart, Thread: true})
	if got := th.greeting(t, th.Repo); err != nil || got != "echo hullo;" {
		t.Errorf("%v: %s", err, got)
	}
	if _, err := os.Stat(filepath.Join(th.Repo, "mine")); err != nil {
		t.Error(err)
	}
}
