package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/internal/plainfile"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree/git"
)

// interim are the files of a git directory that speak of something the user is
// in the middle of.
var interim = []string{
	"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD",
	"REBASE_HEAD", "rebase-merge", "rebase-apply", "sequencer", "index.lock", "HEAD.lock",
}

// Git is a repository in which HEAD is a commit whose tree is tree, on the branch
// that is checked out or on none, and HEAD~ one whose tree is start: the commit
// that the run began at, or one on top of it. The index is tree's too, so nothing
// differs from HEAD where the files are. All else is as it is: history, other
// branches, settings.
//
// Copied says that it is for a [View], whose repository is its own. Where the
// repository keeps its refs in another way than as files, or its data where no
// wall lets commands write, the error is [ErrNoSnapshotView].
func (v *SnapshotViews) Git(ctx context.Context, start, tree string, copied bool) ([]sandbox.Put, error) {
	key := fmt.Sprintf("git %s %s %v", start, tree, copied)
	puts, err := v.cached(key, func() ([]sandbox.Put, error) { return v.git(ctx, start, tree, copied) })
	if err != nil {
		return nil, fmt.Errorf("show the repository at tree %s: %w", tree, err)
	}
	return puts, nil
}

func (v *SnapshotViews) git(ctx context.Context, start, tree string, copied bool) ([]sandbox.Put, error) {
	at, err := v.place(copied)
	if err != nil {
		return nil, err
	}
	head, err := v.commits(ctx, start, tree)
	if err != nil {
		return nil, err
	}
	ref, err := v.repo.headRef(ctx)
	if err != nil {
		return nil, err
	}
	puts := at.interim()
	switch {
	case ref == "":
		puts = append(puts, at.text(at.dir, "HEAD", head))
	case copied:
		puts = append(puts, at.text(at.dir, "HEAD", "ref: "+ref), at.text(at.refs, ref, head))
	default:
		puts = append(puts, at.text(at.refs, ref, head))
	}
	index, err := v.index(ctx, at, tree)
	if err != nil {
		return nil, err
	}
	objects, err := v.objects(at)
	return append(append(puts, index), objects...), err
}

// place is where a repository has its parts, as commands find it.
type place struct {
	dir     string // of the work tree: HEAD, index
	refs    string // that refs are in, by their full names
	objects string
}

// place finds the parts.
func (v *SnapshotViews) place(copied bool) (place, error) {
	if exists(v.repo.common, "reftable") {
		return place{}, fmt.Errorf("%w: its refs are no files", ErrNoSnapshotView)
	}
	if copied {
		own := filepath.Join(v.repo.root, ".git")
		return place{own, own, filepath.Join(own, "objects")}, nil
	}
	objects, err := filepath.EvalSymlinks(filepath.Join(v.repo.common, "objects"))
	if err != nil {
		return place{}, err //nolint:wrapcheck // names the path
	}
	refs, err := filepath.EvalSymlinks(filepath.Join(v.repo.common, "refs"))
	if err != nil {
		return place{}, err //nolint:wrapcheck // names the path
	}
	for _, dir := range []string{objects, refs} {
		if !git.Inside(dir, append(v.repo.GitDirs(), v.repo.root)...) {
			return place{}, fmt.Errorf("%w: its data is in %s", ErrNoSnapshotView, dir)
		}
	}
	return place{v.repo.gitDir, filepath.Dir(refs), objects}, nil
}

// interim takes out what the user is in the middle of.
func (p place) interim() []sandbox.Put {
	var out []sandbox.Put
	for _, name := range interim {
		if exists(p.dir, name) {
			out = append(out, sandbox.Put{Path: filepath.Join(p.dir, name), Deleted: true})
		}
	}
	return out
}

// text is a file with one line.
func (p place) text(dir, name, line string) sandbox.Put {
	return sandbox.Put{
		Path: filepath.Join(dir, name),
		Mode: 0o644,
		Data: []byte(line + "\n"),
	}
}

// commits makes the commits of the start and of the tree, and returns the latter.
// They are the same each time.
func (v *SnapshotViews) commits(ctx context.Context, start, tree string) (string, error) {
	began, err := v.beginning(ctx)
	if err != nil {
		return "", err
	}
	parent := v.base
	if began.tree != start {
		parent, err = v.repo.commitDated(ctx, began.date, start, "The tree that the work began with", v.base)
		if err != nil {
			return "", err
		}
	}
	return v.repo.commitDated(ctx, began.date, tree, "The work", parent)
}

// headRef is the full name of the branch that is checked out, "" for none. HEAD is a file
// that git need not be started to read where it has a name in it; where refs are kept in
// another way it has one that no branch can have.
func (r *Repo) headRef(ctx context.Context) (string, error) {
	text, _ := plainfile.Read(filepath.Join(r.gitDir, "HEAD"))
	branch, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: refs/heads/")
	if ok && branch != ".invalid" {
		return "refs/heads/" + branch, nil
	}
	ref, err := r.run(ctx, "symbolic-ref", "-q", "HEAD")
	var ge *git.Error
	if errors.As(err, &ge) && ge.Code == 1 {
		return "", nil
	}
	return ref, err
}

// index makes an index of the tree. It begins as the one that a snapshot left, or
// as the user's, so that git need not read the files that it knows there.
func (v *SnapshotViews) index(ctx context.Context, at place, tree string) (sandbox.Put, error) {
	dir, err := v.folder()
	if err != nil {
		return sandbox.Put{}, err
	}
	users, index := filepath.Join(v.repo.gitDir, "index"), filepath.Join(dir, "index")
	mark, err := indexMark(users)
	if err != nil {
		return sandbox.Put{}, err
	}
	saved := filepath.Join(v.repo.gitDir, keptPrefix+mark)
	if mark == "" || !exists(v.repo.gitDir, keptPrefix+mark) || copyIndex(saved, index) != nil {
		_ = os.Remove(index) // of a copy that was not finished
		if err := copyIndex(users, index); err != nil {
			return sandbox.Put{}, err
		}
	}
	a := area{dir: v.repo.root, index: index}
	read := v.repo.call(a, "", "read-tree", "--reset", "--no-recurse-submodules", tree)
	if _, err := v.repo.git.Run(ctx, read); err != nil {
		return sandbox.Put{}, err
	}
	info, err := os.Stat(index)
	if err != nil {
		return sandbox.Put{}, err //nolint:wrapcheck // names the path
	}
	return sandbox.Put{
		Path: filepath.Join(at.dir, "index"),
		Mode: 0o644,
		From: index,
		Time: info.ModTime(),
	}, nil
}

// objects are those that the repository does not have.
func (v *SnapshotViews) objects(at place) ([]sandbox.Put, error) {
	from := filepath.Join(v.dir, "objects")
	var out []sandbox.Put
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		out = append(out, sandbox.Put{
			Path: filepath.Join(at.objects, rel),
			Mode: 0o444,
			From: path,
		})
		return err //nolint:wrapcheck // cannot happen below from
	})
	return out, err //nolint:wrapcheck // names the path
}
