package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/worktree"
)

var _ engine.TreeWatcher = sight{}

// sight is the work tree as an engine wants to see it.
type sight struct{ repo *worktree.Repo }

// Look implements engine.TreeWatcher.
func (s sight) Look(ctx context.Context) (tree, head string, err error) {
	seen, err := s.repo.Look(ctx)
	return seen.Tree, seen.Head, err
}

// Changed implements engine.TreeWatcher.
func (s sight) Changed(ctx context.Context, from, to string) ([]string, error) {
	return s.repo.Changed(ctx, from, to)
}

// Files implements engine.TreeWatcher.
func (s sight) Files(ctx context.Context, paths []string) (map[string]engine.File, error) {
	hashes, err := s.repo.Hashes(ctx, paths)
	if err != nil {
		return nil, err
	}
	out := make(map[string]engine.File, len(paths))
	for path, hash := range hashes {
		var written time.Time
		if info, err := os.Lstat(filepath.Join(s.repo.Root(), path)); err == nil {
			written = info.ModTime()
		}
		out[path] = engine.File{Hash: hash, Written: written}
	}
	return out, nil
}

// onDrift is what to do about a changed tree: what the person said, or else
// what the settings say.
func onDrift(s said, cfg config.Config) engine.OnDrift {
	if s.onDrift == "" && cfg.ReplanOnDrift != nil && *cfg.ReplanOnDrift {
		return engine.DriftReplans
	}
	return s.onDrift
}

// personReplans is the reason of a person who gives none.
const personReplans = "the person who asked for the work wants another plan"

// driftChooser takes what a person says about a changed tree.
type driftChooser interface {
	Choose(on engine.OnDrift, replan string)
}

// askDrift asks the person what to do about a changed tree, and reports
// whether to go on.
func (a *app) askDrift(ctx context.Context, eng driftChooser, end engine.End) bool {
	d := end.Parked.Drift
	fmt.Fprintf(a.out, "\nThe work tree changed while the run stood still: %s\n", render.Count(d.Total, "file"))
	const most = 20
	for _, f := range d.Files[:min(most, len(d.Files))] {
		fmt.Fprintf(a.out, "  %s\n", render.SafeLine(f))
	}
	if d.Total > most {
		fmt.Fprintf(a.out, "  and %d more\n", d.Total-most)
	}
	again := ""
	if end.State == plan.Implementing || end.State == plan.Reviewing {
		again = ", r to make another plan"
	}
	fmt.Fprintf(a.out, "c to go on with the tree as it is%s (empty: leave it for later): ", again)
	line, ok := a.readLine(ctx)
	word, reason, _ := strings.Cut(line, " ")
	switch {
	case !ok:
		return false
	case word == "c":
		eng.Choose(engine.DriftGoesOn, "")
		return true
	case word == "r" && again != "":
		if reason = strings.TrimSpace(reason); reason == "" {
			reason = personReplans
		}
		eng.Choose(engine.DriftReplans, reason)
		return true
	}
	return false
}
