package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/caches"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/memory"
)

// A collection that was killed once runs were gone, and before their snapshots were, is
// finished by the next one. A run that is seen has its snapshots.
func TestAKilledCollectionIsFinished(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	h := host.New(w.Config)
	defer h.Close()
	end, err := h.Run(t.Context(), host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"}, host.Face{})
	if err != nil {
		t.Fatal(err)
	}
	refs := func() string { return gittest.Git(t, w.Repo, "for-each-ref", "refs/plan/"+string(end.Run)) }
	if refs() == "" {
		t.Fatal("the run keeps nothing")
	}
	db, err := h.DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Hide(t.Context(), end.Run); err != nil {
		t.Fatal(err)
	}
	if _, err := h.GC(t.Context(), host.GCPolicy{}, false, false, nil); err != nil {
		t.Fatal(err)
	}
	hidden, err := db.Hidden(t.Context())
	if left := refs(); left != "" || len(hidden) > 0 || err != nil {
		t.Errorf("left: %q, %v, %v", left, hidden, err)
	}
	if runs, err := db.Runs(t.Context(), memory.Filter{}); err != nil || len(runs) > 0 {
		t.Errorf("%v, %v", runs, err)
	}
}

// A run that was taken in, and has not gone on, has nothing where its journal says that it
// works: what is there of its name is the home's that it is from, and its programs are found
// as before.
func TestACollectionLeavesPlacesOfOthers(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	first := host.New(w.Config)
	defer first.Close()
	end, err := first.Run(t.Context(), host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"}, host.Face{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.Dir, "run.jsonl")
	if _, err := first.ExportFile(t.Context(), end.Run, file, false); err != nil {
		t.Fatal(err)
	}
	refs := func() string { return gittest.Git(t, w.Repo, "for-each-ref", "refs/plan/"+string(end.Run)) }
	had, move := refs(), filepath.Join(w.Repo, ".plan-move-1")
	if err := os.Mkdir(move, 0o700); err != nil { // of a process of the first home
		t.Fatal(err)
	}
	w.Config.Environ = append(w.Config.Environ, "PLAN_HOME="+filepath.Join(w.Dir, "second"))
	w.TakeIn(t, file)
	second := host.New(w.Config)
	defer second.Close()
	paths, err := second.Paths()
	if err != nil {
		t.Fatal(err)
	}
	if trees, err := memory.Trees(t.Context(), paths.DB); err != nil || len(trees) > 0 {
		t.Errorf("it worked on %q, %v", trees, err)
	}
	for _, dry := range []bool{true, false} {
		gone, err := second.GC(t.Context(), host.GCPolicy{KeepAlone: true}, dry, false, nil)
		if err != nil || len(gone.Removed) != 1 || gone.Removed[0].Refs != 0 {
			t.Errorf("dry %v: removed %+v, %v", dry, gone.Removed, err)
		}
	}
	if _, err := os.Stat(move); err != nil || had == "" || refs() != had {
		t.Errorf("%v, kept %q of %q", err, refs(), had)
	}
}

// A collection that is interrupted ends with that, in one line.
func TestAnInterruptedCollectionSaysSo(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	h := host.New(w.Config)
	defer h.Close()
	if _, err := h.DB(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(engine.ErrInterrupted)
	_, err := h.GC(ctx, host.GCPolicy{KeepAlone: true}, false, true, nil)
	const want = "interrupted; what is left goes the next time"
	if !errors.Is(err, engine.ErrInterrupted) || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// What a process made in the folder of build caches, and died over, is found and removed.
func TestACollectionRemovesWhatIsLeftInCaches(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	h := host.New(w.Config)
	defer h.Close()
	paths, err := h.Paths()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range []string{scratch.Layer + "1", scratch.Probe + "1"} {
		dir := filepath.Join(caches.In(paths.Home), name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		want = append(want, dir)
	}
	for _, dry := range []bool{true, false} {
		left, err := h.Leftovers(t.Context(), dry)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range left {
			if strings.HasPrefix(l.Name, paths.Home) && !l.Removed == dry {
				got = append(got, l.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("dry %v: found %q, want %q", dry, got, want)
		}
	}
	if entries, err := os.ReadDir(caches.In(paths.Home)); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}
