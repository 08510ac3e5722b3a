package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/internal/hint"
)

// A folder of the home that has the name of a run which was taken in is not judged by what the
// journal of that says, and stays. Where the run has gone on here the tree can go, and a branch
// that only the journal names stays.
func TestAJournalDropsNoTreeAndNoBranch(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	h, like := elsewhere(t, w, host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"})
	run, err := h.Load(t.Context(), like)
	if err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, w.Repo, "branch", "theirs", run.Snapshots[len(run.Snapshots)-1].Ref)
	for _, wentOn := range []bool{false, true} {
		id := h.NewRunID()
		dir := filepath.Join(w.Dir, "home", "worktrees", string(id))
		takeInAs(t, w, like, id, func(start *plan.RunStart) {
			start.Worktree = dir
			start.WorkBranch = "theirs"
			start.Base = gittest.Git(t, w.Repo, "rev-parse", "theirs")
		})
		gittest.Git(t, w.Repo, "worktree", "add", "-q", "--detach", dir, "main")
		if wentOn {
			note(t, h, id, plan.Parked{Reason: plan.ParkInterrupted}, plan.Unparked{Reason: plan.ParkInterrupted})
		}
		if _, err := h.At(w.Dir).Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		trees, err := h.At(w.Repo).WorkTrees(t.Context(), true)
		if err != nil || len(trees) != 1 || trees[0].ID != id || trees[0].Removed != wentOn {
			t.Errorf("went on %v: %+v, %v", wentOn, trees, err)
		}
		if _, err := os.Stat(dir); (err == nil) == wentOn {
			t.Errorf("went on %v: the folder: %v", wentOn, err)
		}
		if gittest.Git(t, w.Repo, "branch", "--list", "theirs") == "" {
			t.Fatal("a branch is gone that the journal named")
		}
		_ = os.RemoveAll(dir)
		gittest.Git(t, w.Repo, "worktree", "prune")
	}
}

// takeInAs takes in another run, whose journal says what that of one does that is there up to
// its work, and that it found its tree as it left it.
func takeInAs(t *testing.T, w *hosttest.World, like, id plan.RunID, change func(*plan.RunStart)) {
	t.Helper()
	h := host.New(w.Config)
	defer h.Close()
	past := killedIn(journalOf(t, h, like))
	first := ""
	for i, ev := range past {
		switch b := ev.Body.(type) {
		case plan.RunStart:
			change(&b)
			past[i].Body = b
			first = b.Snapshot
		case plan.Snapshot:
			b.Tree = first
			past[i].Body = b
		}
	}
	file := filepath.Join(w.Dir, string(id)+".jsonl")
	forge(t, w, id, past, file)
	w.TakeIn(t, file)
}

// A look at a run that was taken in changes nothing at the place that it names, and shows of it
// no more than the journal's snapshots, unless the person stands there.
func TestALookAtAJournalLeavesItsPlaceAsItIs(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	h, first := elsewhere(t, w, host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"})
	next := h.NewRunID()
	takeInAs(t, w, first, next, func(start *plan.RunStart) { start.Continues = first })
	gittest.Write(t, w.Repo, map[string]string{"mine.txt": "of the person\n"})
	state := func() string {
		return gittest.Git(t, w.Repo, "for-each-ref") + gittest.Git(t, w.Repo, "count-objects", "-v")
	}
	was, away := state(), h.At(w.Dir)
	run, err := h.Load(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	change, err := away.ChangeOf(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if patch, err := change.Diff(t.Context()); err != nil || strings.Contains(patch, "mine.txt") {
		t.Errorf("it shows %s, %v", patch, err)
	}
	if _, _, err := away.ThreadChangeOf(t.Context(), run); err == nil ||
		!strings.Contains(hint.Of(err), "plan -C '"+run.Start.Repo+"' diff") {
		t.Errorf("the change of its thread: %v", err)
	}
	if _, err := away.Apply(t.Context(), run, host.Apply{Thread: true, Anyway: true, Check: true}); err == nil {
		t.Error("it would be brought over")
	}
	if now := state(); now != was {
		t.Errorf("it was\n%s\nand is\n%s", was, now)
	}
	if change, err = h.At(w.Repo).ChangeOf(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if patch, err := change.Diff(t.Context()); err != nil || !strings.Contains(patch, "mine.txt") {
		t.Errorf("where it belongs it shows %s, %v", patch, err)
	}
}

// Nor does going on with one look at the place before the person has said that it may.
func TestNothingIsReadBeforeAnImportedRunIsTrusted(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	gittest.Write(t, w.Repo, map[string]string{"AGENTS.md": "Be brief.\n"})
	gittest.Git(t, w.Repo, "add", ".")
	gittest.Git(t, w.Repo, "commit", "-qm", "more")
	h, like := elsewhere(t, w, host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"})
	id := h.NewRunID()
	takeInAs(t, w, like, id, func(start *plan.RunStart) {
		start.Aim = plan.AimReview
		start.Against = &plan.Against{Commit: start.Base, Tree: start.Snapshot}
	})
	gittest.Write(t, w.Repo, map[string]string{"mine.txt": "of the person\n"})
	objects := func() string { return gittest.Git(t, w.Repo, "count-objects") }
	was := objects()
	var untrusted *host.UntrustedRunError
	if _, err := h.At(w.Dir).Resume(t.Context(), id, host.Options{}, host.Face{}); !errors.As(err, &untrusted) {
		t.Errorf("it went on: %v", err)
	}
	if now := objects(); now != was {
		t.Errorf("there were %s, and are %s", was, now)
	}
}
