package walls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/caches"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/review"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// maxAdded is how much is read of one file that a reviewer made, in bytes.
const maxAdded = 1 << 20

// errNoViews is a mistake of the program: the caller has left OpenViews out.
var errNoViews = errors.New("the walls have not been told which commit the run began at")

// views are the trees and repositories that commands see in place of the real
// ones, while one process drives the run.
type views struct {
	*worktree.SnapshotViews
	noted sync.Once // the user is told once why there is no view
}

// OpenViews prepares what Review and the trials of a run see of its change. base
// is the commit that the run began at, "" for HEAD. It has to be called before the
// first of them, and [Walls.Close] after the last.
func (w *Walls) OpenViews(base string) {
	w.views = &views{SnapshotViews: w.cfg.Repo().SnapshotViews(cmp.Or(base, "HEAD"))}
}

// Close removes what was made for rooms: views, and layers of caches that are not
// kept. No room may be in use any more.
func (w *Walls) Close() error {
	err := w.caches().Close()
	if w.views != nil {
		err = errors.Join(err, w.views.Close())
	}
	return err
}

// TrialRoom is a room that shows the tree of a trial.
type TrialRoom struct {
	phases.Room

	walls *Walls
	wall  *sandbox.Wall
}

// Reset ends what runs in the room and makes it as it was when it was built, with
// these files added and no others. After an error the room can only be closed.
func (r *TrialRoom) Reset(added []plan.NewFile) error {
	return r.wall.Reset(r.walls.putAdded(added)...)
}

// TrialTree is the hash of the tree that a trial runs on.
func (w *Walls) TrialTree(ctx context.Context, t plan.Trial) (string, error) {
	if w.views == nil {
		return "", errNoViews
	}
	switch t.On {
	case "", plan.TreeReviewed:
		return t.Trees.Work, nil
	case plan.TreeStart:
		return t.Trees.Start, nil
	case plan.TreeCounter:
		return w.views.Counter(ctx, t.Trees.Start, t.Trees.Work, review.IsTest)
	}
	return "", fmt.Errorf("there is no tree %q to run a command on", t.On)
}

// TrialChanges lists the paths at which the tree of a trial differs from the start.
func (w *Walls) TrialChanges(ctx context.Context, t plan.Trial) ([]string, error) {
	tree, err := w.TrialTree(ctx, t)
	if err != nil || tree == t.Trees.Start {
		return nil, err
	}
	return w.views.Changed(ctx, t.Trees.Start, tree)
}

// TrialRoom makes a room in which the files are those of a trial's tree with the
// files that the trial adds. HEAD is that tree there, and HEAD~ the start. A
// repository that cannot be shown that way is seen as it is, and the user is told.
//
// What its commands write to caches is there for the next trial on the same tree, and
// for later runs where no work was done yet.
func (w *Walls) TrialRoom(ctx context.Context, t plan.Trial) (*TrialRoom, error) {
	if t.Baseline && t.On == "" && len(t.Added) == 0 && t.Trees.Start == t.Trees.Work {
		start := func(_, tree string) (*caches.Lease, error) { return w.leaseStart(ctx, tree) }
		return w.trialRoom(ctx, t, w.policy(plan.Review), start)
	}
	return w.trialRoom(ctx, t, w.policy(plan.Review), w.caches().Reviewed)
}

// leaseStart leases the layers for what runs on the tree that the run began at. They
// are kept for later runs only where it is the tree of a commit: what an earlier run
// has left uncommitted may be what a person is about to throw away.
func (w *Walls) leaseStart(ctx context.Context, tree string) (*caches.Lease, error) {
	return w.caches().Start(w.views != nil && w.views.AtBase(ctx, tree))
}

// FetchRoom makes a room that shows the tree of a trial, for a command that fetches
// what trials on it need. It has a network whatever the settings say. What is written
// to caches is there for those trials, and what is written to the tree is not.
func (w *Walls) FetchRoom(ctx context.Context, t plan.Trial) (phases.Room, error) {
	policy := w.policy(plan.Review)
	policy.Network = true
	room, err := w.trialRoom(ctx, t, policy, w.caches().Reviewed)
	if err != nil {
		return phases.Room{}, err
	}
	return room.Room, nil
}

// trialRoom makes the room of a trial whose commands may do what the policy says, over
// layers of caches that it leases for the reviewed tree and the tree that it shows.
func (w *Walls) trialRoom(
	ctx context.Context,
	t plan.Trial,
	policy sandbox.Policy,
	lease func(work, tree string) (*caches.Lease, error),
) (*TrialRoom, error) {
	tree, err := w.TrialTree(ctx, t)
	if err != nil {
		return nil, err
	}
	files, err := w.views.Files(ctx, t.Trees.Work, tree)
	if err != nil {
		return nil, err
	}
	trees := plan.Trees{Start: t.Trees.Start, Work: tree}
	git, err := w.views.Git(ctx, trees.Start, trees.Work, w.NeedsCopy())
	if errors.Is(err, worktree.ErrNoSnapshotView) {
		w.views.noted.Do(func() { w.cfg.Note(fmt.Sprintf("%v: reviews and checks see it as it is", err)) })
		trees = plan.Trees{}
	} else if err != nil {
		return nil, err
	}
	policy.Tracked = true
	policy.Put = slices.Concat(files, git, w.putAdded(t.Added))
	wall, discard, err := w.newWall(
		ctx,
		policy,
		func() (*caches.Lease, error) { return lease(t.Trees.Work, tree) },
	)
	if err != nil {
		return nil, err
	}
	room := w.roomBehind(ctx, wall, discard)
	room.Shown = trees
	room.Changes = func(ctx context.Context) (phases.Changes, error) {
		changes, _, err := w.listChanges(ctx, wall, tree)
		return changes, err
	}
	room.Added = func(ctx context.Context, named func(string) bool) ([]plan.AddedFile, error) {
		return w.listAdded(ctx, wall, tree, named)
	}
	room.Read = func(path string) ([]byte, fs.FileMode, error) { return wall.Read(path, maxAdded) }
	return &TrialRoom{
		Room:  room,
		walls: w,
		wall:  wall,
	}, nil
}

// putAdded puts the files that a reviewer made where they stood. A file that was
// made in a repository's own data is left out.
func (w *Walls) putAdded(files []plan.NewFile) []sandbox.Put {
	var out []sandbox.Put
	for _, f := range files {
		path := f.Path
		if !filepath.IsAbs(path) {
			path = filepath.FromSlash(path)
			if !filepath.IsLocal(path) || inGitDir(f.Path) {
				continue
			}
			path = filepath.Join(w.cfg.Repo().Root(), path)
		}
		out = append(out, sandbox.Put{
			Path: path,
			Mode: fs.FileMode(f.Mode).Perm(),
			Data: f.Data,
		})
	}
	return out
}

// inGitDir reports whether a path, with slashes, is of a repository's own data.
func inGitDir(path string) bool { return slices.Contains(strings.Split(path, "/"), ".git") }

// listChanges says what commands behind a wall did to the files of a tree. Files
// that the tree does not have count as added, unless git ignores them: those come apart.
func (w *Walls) listChanges(ctx context.Context, wall *sandbox.Wall, tree string) (phases.Changes, []string, error) {
	changes, err := wall.Changes(ctx)
	if err != nil || len(changes.Written)+len(changes.Added) == 0 {
		return phases.Changes{}, nil, err
	}
	paths, err := w.views.Paths(ctx, tree)
	if err != nil {
		return phases.Changes{}, nil, err
	}
	notInTree := func(path string) bool { return !paths[path] }
	out := phases.Changes{
		Altered: slices.DeleteFunc(changes.Altered, notInTree),
		Wrote:   slices.DeleteFunc(changes.Written, notInTree),
		Added:   slices.DeleteFunc(changes.Added, inGitDir),
	}
	ignores, err := w.cfg.Repo().Ignored(ctx, out.Added)
	if err != nil {
		return phases.Changes{}, nil, err
	}
	var ignored []string
	out.Added = slices.DeleteFunc(out.Added, func(path string) bool {
		if ignores[path] {
			ignored = append(ignored, path)
		}
		return ignores[path]
	})
	return out, ignored, nil
}

// listAdded lists the regular files that commands behind a wall have made, in the
// tree and in the temporary folder. Of those that git ignores it takes the named ones.
func (w *Walls) listAdded(
	ctx context.Context,
	wall *sandbox.Wall,
	tree string,
	named func(string) bool,
) ([]plan.AddedFile, error) {
	changes, ignored, err := w.listChanges(ctx, wall, tree)
	if err != nil {
		return nil, err
	}
	ignored = slices.DeleteFunc(ignored, func(path string) bool { return !named(path) })
	if ignored, err = w.besideTheWork(ctx, ignored); err != nil {
		return nil, err
	}
	var out []plan.AddedFile
	for _, path := range slices.Concat(changes.Added, ignored) {
		size, mode, err := wall.Stat(path)
		if err != nil { // it is no regular file, or gone again
			continue
		}
		out = append(out, plan.AddedFile{
			Path: path,
			Mode: uint32(mode),
			Size: size,
		})
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

// besideTheWork takes the files out that lie in a folder of which git ignores whatever is
// in it: what is in those was installed or built, and has the names of all kinds of files.
func (w *Walls) besideTheWork(ctx context.Context, files []string) ([]string, error) {
	var strangers []string // a file that no tree has, in each folder
	for _, file := range files {
		if dir := path.Dir(file); dir != "." {
			strangers = append(strangers, dir+"/"+unusedName)
		}
	}
	ignored, err := w.cfg.Repo().Ignored(ctx, strangers)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(files, func(file string) bool { return ignored[path.Dir(file)+"/"+unusedName] }), nil
}

// unusedName is the name of a file that no rule of git's means in particular.
const unusedName = "any.plan-file"
