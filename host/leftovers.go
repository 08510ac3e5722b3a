package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/holder"
	"github.com/plan-engine/plan/internal/intent"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// Leftover is a thing that a killed process has left.
type Leftover struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"` // a path, a branch, or how many there are
	Bytes   int64  `json:"bytes"`
	Of      string `json:"of,omitempty"` // what it belongs to
	Removed bool   `json:"removed"`
	Stays   string `json:"stays,omitempty"` // why it cannot go

	// small says that it is no reason to speak of: each process leaves its locks.
	small  bool
	remove func(context.Context) error
}

// kind is one sort of thing that processes make: where it lies, and whose it is. Find
// leaves out what a process uses.
type kind struct {
	name string
	find func(l *leftovers, ctx context.Context) ([]Leftover, error)
}

// kinds are all that this program makes outside of its database and logs, and does not
// keep for good.
func kinds() []kind {
	return []kind{
		{"work tree, branch, snapshots and file of a note", (*leftovers).noted},
		{"work tree without a run", (*leftovers).strayTrees},
		{"temporary folder", (*leftovers).temporary},
		{"folder of a move", (*leftovers).moves},
		{"clone", (*leftovers).clones},
		{"draft", (*leftovers).drafts},
		{"layer of a build cache", (*leftovers).layers},
		{"locks", (*leftovers).locks},
	}
}

// leftovers is one look at what is left.
type leftovers struct {
	db    *memory.DB
	runs  map[plan.RunID]memory.RunInfo
	paths config.Paths
	notes []intent.Entry
	held  []*intent.Intent // of dead processes; held until the end, so that no other begins on them
	dry   bool
	avoid func(path string) bool // see worktree.Open
}

// Leftovers looks for what killed processes have left of what they made, and removes
// it unless it is dry. What a process uses is none, by its lock; what cannot go says
// why.
func (h *Host) Leftovers(ctx context.Context, dry bool) (out []Leftover, err error) {
	out = []Leftover{}
	l := &leftovers{
		avoid: h.Avoid(ctx),
		runs:  map[plan.RunID]memory.RunInfo{},
		dry:   dry,
	}
	if l.paths, err = h.Paths(); err != nil {
		return nil, err
	}
	if l.db, err = h.DB(ctx); err != nil {
		return nil, err
	}
	runs, err := l.db.Runs(ctx, memory.Filter{})
	if err != nil {
		return nil, err
	}
	if err := leaveForeignPlaces(ctx, l.db, runs); err != nil {
		return nil, err
	}
	for _, r := range runs {
		l.runs[r.ID] = r
	}
	if l.notes, err = intent.All(l.paths.Making); err != nil {
		return nil, err
	}
	defer func() {
		for _, i := range l.held {
			err = errors.Join(err, i.Leave())
		}
	}()
	var faults []error
	for _, k := range kinds() {
		leftovers, err := k.find(l, ctx)
		if err != nil {
			faults = append(faults, fmt.Errorf("look for what is left (%s): %w", k.name, err))
		}
		if !dry {
			removeAll(ctx, leftovers)
		}
		out = append(out, leftovers...)
	}
	return out, errors.Join(append(faults, l.dropNotes(ctx))...)
}

// removeAll removes what can go, and says of each what came of it.
func removeAll(ctx context.Context, left []Leftover) {
	for i := range left {
		if left[i].Stays != "" {
			continue
		}
		err := left[i].remove(ctx)
		left[i].Removed = err == nil
		if err != nil {
			left[i].Stays = err.Error()
		}
	}
}

// endNotes removes what dead processes have left that made something for a run of a
// repository: a work tree that git did not make to its end is an error for `git fsck`.
// What cannot be removed stays noted, for a sweep that says so.
func (h *Host) endNotes(ctx context.Context, db *memory.DB, repo *worktree.Repo) error {
	paths, err := h.Paths()
	if err != nil {
		return err
	}
	notes, err := intent.All(paths.Making)
	if err != nil {
		return err
	}
	l := &leftovers{
		avoid: h.Avoid(ctx),
		db:    db,
		runs:  map[plan.RunID]memory.RunInfo{},
		notes: slices.DeleteFunc(notes, func(n intent.Entry) bool { return n.Repo != repo.Root() }),
	}
	for _, n := range l.notes {
		run, err := db.Run(ctx, plan.RunID(n.Run))
		switch {
		case err == nil:
			l.runs[run.ID] = run
		case !errors.Is(err, memory.ErrNoRun):
			return err
		}
	}
	left, err := l.noted(ctx)
	removeAll(ctx, left)
	return errors.Join(err, l.dropNotes(ctx))
}

// Remarkable are those of the leftovers that people should hear of.
func Remarkable(left []Leftover) []Leftover {
	return slices.DeleteFunc(slices.Clone(left), func(l Leftover) bool { return l.small })
}

// noted are the things that notes of dead processes speak of.
func (l *leftovers) noted(ctx context.Context) (out []Leftover, err error) {
	var faults []error
	for _, f := range l.notes {
		i, free := f.Take(ctx)
		if !free {
			continue // a process is at work on it, or was until now
		}
		l.held = append(l.held, i)
		leftovers, err := l.ofNote(ctx, i.Note)
		out = append(out, leftovers...)
		faults = append(faults, err)
	}
	return out, errors.Join(faults...)
}

// ofNote are the things of one note. Those of a run that has begun are the run's.
func (l *leftovers) ofNote(ctx context.Context, n intent.Note) ([]Leftover, error) {
	if n.File != "" {
		return fileOf(n), nil
	}
	id := plan.RunID(n.Run)
	if _, begun := l.runs[id]; n.Repo == "" || begun && !n.Drop {
		return nil, nil
	}
	if _, held := l.db.Holder(id); held {
		return nil, nil
	}
	repo, err := worktree.Open(ctx, n.Repo, l.avoid)
	if err != nil {
		if _, statErr := os.Lstat(n.Repo); !errors.Is(statErr, fs.ErrNotExist) || n.Dir == "" {
			return nil, nil //nolint:nilerr // nothing is left where nothing is
		}
		return l.orphanTree(n), nil
	}
	return thingsOf(ctx, repo, n)
}

// orphanTree is a work tree whose repository is gone.
func (l *leftovers) orphanTree(n intent.Note) []Leftover {
	if _, err := os.Lstat(n.Dir); err != nil {
		return nil
	}
	return []Leftover{{
		Kind:  "work tree",
		Name:  n.Dir,
		Bytes: sizeOf(n.Dir),
		Of:    ofRun(n),
		Stays: "its repository " + n.Repo + " is gone; remove it if you need nothing in it",
	}}
}

func ofRun(n intent.Note) string {
	state := "which never began"
	if n.Drop {
		state = "whose work tree was being removed"
	}
	return fmt.Sprintf("run %s in %s, %s", n.Run, n.Repo, state)
}

// fileOf is a file that was not whole when its process died.
func fileOf(n intent.Note) []Leftover {
	info, err := os.Lstat(n.File)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return []Leftover{{
		Kind:  "file",
		Name:  n.File,
		Bytes: info.Size(),
		Of:    fmt.Sprintf("a backup or an export that process %d did not end", n.PID),
		remove: func(context.Context) error {
			for _, suffix := range []string{"-journal", "-wal", "-shm"} {
				_ = os.Remove(n.File + suffix) // SQLite's
			}
			return os.Remove(n.File)
		},
	}}
}

// thingsOf are the things of a note about a run that are there.
func thingsOf(ctx context.Context, repo *worktree.Repo, n intent.Note) (out []Leftover, err error) {
	if n.Dir != "" && repo.HasWorkTree(n.Dir) {
		left := Leftover{
			Kind:   "work tree",
			Name:   n.Dir,
			Bytes:  sizeOf(n.Dir),
			Of:     ofRun(n),
			remove: func(ctx context.Context) error { return repo.DropLeft(ctx, n.Dir) },
		}
		if adds, err := worktree.Adds(ctx, n.Dir, n.Tree); err != nil || adds {
			left.Stays = "it holds what was not there when it was made; `git worktree remove --force` takes it away"
		}
		out = append(out, left)
	}
	if n.Branch != "" {
		there, elsewhere, err := repo.HasBranch(ctx, n.Branch, n.Base)
		if err != nil {
			return out, err
		}
		if there {
			out = append(out, branchOf(repo, n, elsewhere, out))
		}
	}
	if n.Drop {
		return out, nil
	}
	refs, err := repo.Kept(ctx, plan.RunID(n.Run))
	if err != nil || len(refs) == 0 {
		return out, err
	}
	labels := slices.Sorted(maps.Keys(refs))
	return append(out, Leftover{
		Kind:   "snapshots",
		Name:   "refs/plan/" + n.Run,
		Of:     ofRun(n),
		remove: func(ctx context.Context) error { return repo.Forget(ctx, plan.RunID(n.Run), labels...) },
	}), nil
}

// branchOf is the branch of a note. It stays with commits of its own, and with its
// work tree.
func branchOf(repo *worktree.Repo, n intent.Note, elsewhere bool, before []Leftover) Leftover {
	left := Leftover{
		Kind: "branch",
		Name: n.Branch,
		Of:   ofRun(n),
		remove: func(ctx context.Context) error {
			dropped, err := repo.DropBranch(ctx, n.Branch, n.Base)
			if err == nil && !dropped {
				err = errors.New("git keeps it")
			}
			return err
		},
	}
	switch {
	case !elsewhere:
		left.Stays = "it has commits that are nowhere else; `git branch -D` takes it away"
	case len(before) > 0 && before[0].Stays != "":
		left.Stays = "its work tree stays"
	}
	return left
}

// dropNotes takes away the notes of dead processes of whose things nothing is left.
func (l *leftovers) dropNotes(ctx context.Context) error {
	if l.dry {
		return nil
	}
	var errs []error
	for _, i := range l.held {
		if left, err := l.ofNote(ctx, i.Note); err != nil || len(left) > 0 {
			errs = append(errs, err, i.Leave())
			continue
		}
		errs = append(errs, i.Done())
	}
	l.held = nil
	return errors.Join(errs...)
}

// strayTrees are work trees of no run and no note: of a home that lost its database, or
// of an earlier version that was killed.
func (l *leftovers) strayTrees(context.Context) ([]Leftover, error) {
	entries, err := os.ReadDir(l.paths.Worktrees)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the work trees: %w", err)
	}
	var out []Leftover
	for _, e := range entries {
		dir := filepath.Join(l.paths.Worktrees, e.Name())
		_, known := l.runs[plan.RunID(e.Name())]
		noted := slices.ContainsFunc(l.notes, func(f intent.Entry) bool { return f.Dir == dir })
		if known || noted || !e.IsDir() {
			continue
		}
		out = append(out, Leftover{
			Kind:  "work tree",
			Name:  dir,
			Bytes: sizeOf(dir),
			Stays: "no run of this id is known here; " +
				"if you do not need it, `git worktree remove --force` takes it away",
		})
	}
	return out, nil
}

// locks are the files of locks that no process has: one of each run, and of each tree.
func (l *leftovers) locks(context.Context) ([]Leftover, error) {
	entries, err := os.ReadDir(l.paths.Locks)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the locks: %w", err)
	}
	removed := 0
	for _, e := range entries {
		name, isLock := strings.CutSuffix(e.Name(), ".lock")
		_, isRun := l.runs[plan.RunID(name)]
		if !isLock || !isRun && !strings.HasPrefix(name, "tree-") && len(name) != 26 {
			continue
		}
		free, err := holder.Collect(filepath.Join(l.paths.Locks, e.Name()), l.dry)
		if err != nil {
			return nil, err
		}
		if free {
			removed++
		}
	}
	if removed == 0 {
		return nil, nil
	}
	return []Leftover{{
		Kind:   "locks",
		Name:   fmt.Sprintf("%d in %s", removed, l.paths.Locks),
		small:  true,
		remove: func(context.Context) error { return nil }, // that was done while they were held
	}}, nil
}

// sizeOf is how much a folder holds, as far as that can be read.
func sizeOf(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what is there counts
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
