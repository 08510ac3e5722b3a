package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/review"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// shows makes what the commands of a run see of its change. It exists for as long
// as a process drives the run.
type shows struct {
	*worktree.SnapshotViews
	// tell says, once, why the repository cannot be shown at a snapshot.
	tell func(why error)
}

// openShows prepares them for a run that began at a commit.
func (a *app) openShows(repo *worktree.Repo, base string) *shows {
	var once sync.Once
	return &shows{
		SnapshotViews: repo.SnapshotViews(cmp.Or(base, "HEAD")),
		tell: func(why error) {
			once.Do(func() { a.note(fmt.Sprintf("%v: reviews and checks see it as it is", why)) })
		},
	}
}

// shownRoom is a room that shows a tree, with the walls around it.
type shownRoom struct {
	phases.Room
	wall *sandbox.Wall
}

// tree is the tree that a trial runs on.
func (wl *walls) tree(ctx context.Context, t plan.Trial) (string, error) {
	switch t.On {
	case "", plan.TreeReviewed:
		return t.Trees.Work, nil
	case plan.TreeStart:
		return t.Trees.Start, nil
	case plan.TreeCounter:
		return wl.shows.Counter(ctx, t.Trees.Start, t.Trees.Work, review.IsTest)
	}
	return "", fmt.Errorf("there is no tree %q to run a command on", t.On)
}

// show makes a room in which the files are those of a trial's tree, HEAD is that
// tree, and HEAD~ is the start.
func (wl *walls) show(ctx context.Context, t plan.Trial) (shownRoom, error) {
	tree, err := wl.tree(ctx, t)
	if err != nil {
		return shownRoom{}, err
	}
	level, _ := wl.level()
	policy := wl.policy(plan.Review)
	policy.Tracked = true
	files, err := wl.shows.Files(ctx, t.Trees.Work, tree)
	if err != nil {
		return shownRoom{}, err
	}
	at := plan.Trees{Start: t.Trees.Start, Work: tree}
	git, err := wl.shows.Git(ctx, at.Start, at.Work, level.NeedsCopy())
	switch {
	case errors.Is(err, worktree.ErrNoSnapshotView):
		wl.shows.tell(err)
		at = plan.Trees{}
	case err != nil:
		return shownRoom{}, err
	}
	policy.Put = slices.Concat(files, git, wl.addedPuts(t.Added))
	discard := func() error { return nil }
	if level.NeedsCopy() {
		if policy, discard, err = wl.copied(ctx, policy); err != nil {
			return shownRoom{}, err
		}
	}
	wall, err := sandbox.NewWall(level, policy, wl.env)
	if err != nil {
		return shownRoom{}, errors.Join(err, discard())
	}
	out := shownRoom{Room: wl.around(ctx, wall, discard), wall: wall}
	out.Shown = at
	out.Changes = func(ctx context.Context) (phases.Changes, error) { return wl.changes(ctx, wall, tree) }
	out.Added = func(ctx context.Context) ([]plan.AddedFile, error) { return wl.added(ctx, wall, tree) }
	out.Read = func(path string) ([]byte, fs.FileMode, error) { return wall.Read(path, maxAdded) }
	return out, nil
}

// maxAdded is how much is read of one file that a reviewer made, in bytes.
const maxAdded = 1 << 20

// addedPuts puts a reviewer's files where they stood. One that was made where the
// tree has a file by now, or in a repository's own data, is left out.
func (wl *walls) addedPuts(files []plan.NewFile) []sandbox.Put {
	var out []sandbox.Put
	for _, f := range files {
		path := f.Path
		if !filepath.IsAbs(path) {
			path = filepath.FromSlash(path)
			if !filepath.IsLocal(path) || inGit(f.Path) {
				continue
			}
			path = filepath.Join(wl.repo().Root(), path)
		}
		out = append(out, sandbox.Put{
			Path: path,
			Mode: fs.FileMode(f.Mode).Perm(),
			Data: f.Data,
		})
	}
	return out
}

// inGit reports whether a path, with slashes, is of a repository's own data.
func inGit(path string) bool { return slices.Contains(strings.Split(path, "/"), ".git") }

// changes is how the files of a tree stand behind a wall.
func (wl *walls) changes(ctx context.Context, wall *sandbox.Wall, tree string) (phases.Changes, error) {
	all, err := wall.Changes(ctx)
	if err != nil || len(all.Written)+len(all.Added) == 0 {
		return phases.Changes{}, err
	}
	paths, err := wl.shows.Paths(ctx, tree)
	if err != nil {
		return phases.Changes{}, err
	}
	foreign := func(path string) bool { return !paths[path] }
	out := phases.Changes{
		Altered: slices.DeleteFunc(all.Altered, foreign),
		Wrote:   slices.DeleteFunc(all.Written, foreign),
		Added:   slices.DeleteFunc(all.Added, inGit),
	}
	ignored, err := wl.repo().Ignored(ctx, out.Added)
	if err != nil {
		return phases.Changes{}, err
	}
	out.Added = slices.DeleteFunc(out.Added, func(path string) bool { return ignored[path] })
	return out, nil
}

// added lists the files that a reviewer has made.
func (wl *walls) added(ctx context.Context, wall *sandbox.Wall, tree string) ([]plan.AddedFile, error) {
	changed, err := wl.changes(ctx, wall, tree)
	if err != nil {
		return nil, err
	}
	var out []plan.AddedFile
	for _, path := range changed.Added {
		size, mode, err := wall.Stat(path)
		if err == nil { // else it is no file, or gone again
			out = append(out, plan.AddedFile{
				Path: path,
				Mode: uint32(mode),
				Size: size,
			})
		}
	}
	files, err := wall.TemporaryFiles(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		out = append(out, plan.AddedFile{
			Path: f.Path,
			Mode: uint32(f.Mode),
			Size: f.Size,
		})
	}
	return out, nil
}
