package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree/git"
)

// ErrNoSnapshotView says that a repository cannot be shown at a snapshot.
var ErrNoSnapshotView = errors.New("the repository cannot be shown at a snapshot")

// SnapshotViews makes what commands see of a change: the files of a tree, and a
// repository in which HEAD is that tree and HEAD~ the one that the change counts
// from. Both come as files to be put behind a wall. What git has to write for
// them (commits, trees, an index) is kept in a folder of its own until Close, and
// never reaches the repository. Questions about the same trees cost git once.
//
// It is safe for concurrent use.
type SnapshotViews struct {
	base string // the commit that the run began at

	mu    sync.Mutex
	repo  *Repo  // whose git writes objects to the folder
	plain *Repo  // as it was opened
	dir   string // "" until something is asked
	own   *scratch.Folder
	made  map[string][]sandbox.Put
	paths map[string]map[string]bool
	diffs map[[2]string][]delta // by the ids of two trees
	trees map[string]string     // made in dir, by what they were made of
	began *commitInfo           // what the base is, once it was asked for
	count int                   // of the folders made in dir
}

// SnapshotViews prepares views of changes on top of a commit. Nothing is made yet.
func (r *Repo) SnapshotViews(base string) *SnapshotViews {
	return &SnapshotViews{
		base:  base,
		plain: r,
		made:  map[string][]sandbox.Put{},
		paths: map[string]map[string]bool{},
		diffs: map[[2]string][]delta{},
		trees: map[string]string{},
	}
}

// Close removes what was made. What was put behind a wall by then stays there.
func (v *SnapshotViews) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dir == "" {
		return nil
	}
	err := v.own.Close()
	v.dir = ""
	clear(v.made)
	clear(v.diffs)
	clear(v.trees)
	return err
}

// open makes the folder, and a git that writes to it and reads the repository.
func (v *SnapshotViews) open() error {
	if v.dir != "" {
		return nil
	}
	own, err := scratch.New(v.plain.scratch(), scratch.View)
	if err != nil {
		return err
	}
	objects := filepath.Join(own.Dir, "objects")
	if err := os.Mkdir(objects, 0o700); err != nil {
		return errors.Join(err, own.Close())
	}
	repo := *v.plain
	repo.git = repo.git.With("GIT_OBJECT_DIRECTORY="+objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+quotePath(filepath.Join(repo.common, "objects")))
	v.dir, v.own, v.repo = own.Dir, own, &repo
	return nil
}

// quotePath writes a directory as an entry of a list that colons separate.
func quotePath(dir string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(dir) + `"`
}

// folder makes a folder in that of the views.
func (v *SnapshotViews) folder() (string, error) {
	v.count++
	dir := filepath.Join(v.dir, fmt.Sprintf("made%d", v.count))
	return dir, os.Mkdir(dir, 0o700) //nolint:wrapcheck // names the path
}

// cached answers a question that was asked before with what was answered then.
func (v *SnapshotViews) cached(key string, make func() ([]sandbox.Put, error)) ([]sandbox.Put, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if puts, ok := v.made[key]; ok {
		return puts, nil
	}
	if err := v.open(); err != nil {
		return nil, err
	}
	puts, err := make()
	if err == nil {
		v.made[key] = puts
	}
	return puts, err
}

// commitInfo is what views need to know of a commit.
type commitInfo struct{ tree, date string }

// beginning is the commit that the run began at. Git is asked once.
func (v *SnapshotViews) beginning(ctx context.Context) (commitInfo, error) {
	if v.began != nil {
		return *v.began, nil
	}
	output, err := v.plain.run(ctx, "show", "-s", "--no-show-signature", "--no-notes", "--format=%ct %T", v.base)
	if err != nil {
		return commitInfo{}, err
	}
	seconds, tree, ok := strings.Cut(output, " ")
	if !ok {
		return commitInfo{}, fmt.Errorf("read commit %s: git printed %q", v.base, output)
	}
	v.began = &commitInfo{tree: tree, date: "@" + seconds + " +0000"}
	return *v.began, nil
}

// AtBase reports whether a tree is that of the commit that the run began at.
func (v *SnapshotViews) AtBase(ctx context.Context, tree string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	began, err := v.beginning(ctx)
	return err == nil && began.tree == tree
}

// deltas lists how two trees differ. Git is asked once for each two, whichever is the
// first of them.
func (v *SnapshotViews) deltas(ctx context.Context, from, to string) ([]delta, error) {
	if known, ok := v.diffs[[2]string{from, to}]; ok {
		return known, nil
	}
	if known, ok := v.diffs[[2]string{to, from}]; ok {
		return reversed(known), nil
	}
	changed, err := v.repo.deltas(ctx, from, to)
	if err == nil {
		v.diffs[[2]string{from, to}] = changed
	}
	return changed, err
}

// Changed lists the paths that differ between two trees, of which Counter may have
// made one.
func (v *SnapshotViews) Changed(ctx context.Context, from, to string) ([]string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.open(); err != nil {
		return nil, err
	}
	changes, err := v.deltas(ctx, from, to)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(changes))
	for i, d := range changes {
		paths[i] = d.path
	}
	slices.Sort(paths)
	return paths, nil
}

// Counter is the tree of work with every file put back that differs from start
// and is no test. It is start where only tests differ, and work where nothing
// does. A renamed file counts under both names; a submodule stays where it is,
// since its files cannot be put back.
func (v *SnapshotViews) Counter(ctx context.Context, start, work string, isTest func(string) bool) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	tree, err := v.counter(ctx, start, work, isTest)
	if err != nil {
		return "", fmt.Errorf("make the tree without the work: %w", err)
	}
	return tree, nil
}

func (v *SnapshotViews) counter(ctx context.Context, start, work string, isTest func(string) bool) (string, error) {
	if err := v.open(); err != nil {
		return "", err
	}
	changes, err := v.deltas(ctx, work, start)
	if err != nil || len(changes) == 0 {
		return work, err
	}
	back := slices.DeleteFunc(slices.Clone(changes), func(d delta) bool { return isTest(d.path) || d.links() })
	switch {
	case len(back) == len(changes): // with all of them put back it is the start
		return start, nil
	case len(back) > 0:
		return v.overlaid(ctx, work, back)
	case slices.ContainsFunc(changes, delta.links):
		return work, nil
	}
	return start, nil
}

// overlaid is the tree with the given paths as they are on the to side. It is made
// once: a review asks for the tree without the work before each of its trials.
func (v *SnapshotViews) overlaid(ctx context.Context, tree string, changes []delta) (string, error) {
	key := tree + " " + indexInfo(changes)
	if known, ok := v.trees[key]; ok {
		return known, nil
	}
	overlay, err := v.repo.overlaid(ctx, tree, changes)
	if err == nil {
		v.trees[key] = overlay
	}
	return overlay, err
}

// links reports whether a path is a submodule on one side.
func (d delta) links() bool { return d.from.mode == gitlinkMode || d.to.mode == gitlinkMode }

// Files are what makes the files of one tree those of another, as a checkout
// would write them. Submodules stay where they are.
func (v *SnapshotViews) Files(ctx context.Context, from, to string) ([]sandbox.Put, error) {
	puts, err := v.cached("files "+from+" "+to, func() ([]sandbox.Put, error) { return v.files(ctx, from, to) })
	if err != nil {
		return nil, fmt.Errorf("take the files of tree %s: %w", to, err)
	}
	return puts, nil
}

func (v *SnapshotViews) files(ctx context.Context, from, to string) ([]sandbox.Put, error) {
	changed, err := v.deltas(ctx, from, to)
	if err != nil {
		return nil, err
	}
	changes := slices.DeleteFunc(slices.Clone(changed), delta.links)
	if len(changes) == 0 {
		return nil, nil
	}
	dir, err := v.folder()
	if err != nil {
		return nil, err
	}
	present := slices.DeleteFunc(slices.Clone(changes), func(d delta) bool { return d.to.mode == absentMode })
	a := area{dir: v.repo.root, index: dir + ".index"}
	update := v.repo.call(a, indexInfo(present), "update-index", "-z", "--index-info")
	if _, err := v.repo.git.Run(ctx, update); err != nil {
		return nil, err
	}
	checkOut := v.repo.call(a, "", "checkout-index", "-q", "-a", "--prefix="+dir+"/")
	if _, err := v.repo.git.Run(ctx, checkOut); err != nil {
		return nil, err
	}
	puts := make([]sandbox.Put, 0, len(changes))
	for _, c := range changes {
		put := sandbox.Put{Path: filepath.Join(v.repo.root, c.path), Deleted: c.to.mode == absentMode}
		if !put.Deleted {
			if err := fill(&put, filepath.Join(dir, c.path)); err != nil {
				return nil, err
			}
		}
		puts = append(puts, put)
	}
	return puts, nil
}

// fill gives a put the type and the content of a file.
func fill(put *sandbox.Put, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	put.Mode, put.From = info.Mode().Perm(), path
	if info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	target, err := os.Readlink(path)
	put.Mode, put.From, put.Data = fs.ModeSymlink, "", []byte(target)
	return err //nolint:wrapcheck // names the path
}

// Paths are the files and links of a tree, with slashes. They must not be changed.
func (v *SnapshotViews) Paths(ctx context.Context, tree string) (map[string]bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, ok := v.paths[tree]; ok {
		return known, nil
	}
	if err := v.open(); err != nil {
		return nil, err
	}
	out, err := v.repo.run(ctx, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return nil, fmt.Errorf("list the files of tree %s: %w", tree, err)
	}
	paths := map[string]bool{}
	for _, line := range splitNUL(out) {
		head, path, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(head, gitlinkMode) {
			paths[path] = true
		}
	}
	v.paths[tree] = paths
	return paths, nil
}

// Ignored tells which of the paths, relative to the root with slashes, git
// ignores in the work tree as it is.
func (r *Repo) Ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	inside := slices.DeleteFunc(slices.Clone(paths), r.beyondLink)
	if len(inside) == 0 {
		return nil, nil
	}
	ask := r.call(area{dir: r.root}, joinNUL(inside), "check-ignore", "-z", "--stdin", "--no-index")
	out, err := r.git.Run(ctx, ask)
	var ge *git.Error
	if errors.As(err, &ge) && ge.Code == 1 { // none
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask which files are ignored: %w", err)
	}
	ignored := map[string]bool{}
	for _, path := range splitNUL(out) {
		ignored[path] = true
	}
	return ignored, nil
}

// beyondLink reports whether a link leads to a path in the work tree, which git
// refuses to be asked about.
func (r *Repo) beyondLink(path string) bool {
	for at := filepath.Dir(path); at != "."; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(r.root, at)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}
