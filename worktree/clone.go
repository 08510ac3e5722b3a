package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/worktree/git"
)

// Clone clones a repository into dir, without files: it is a store that work
// trees are made from. After an error nothing is left of it. The directory that
// dir is in must be there. Avoid is as for [Open].
func Clone(ctx context.Context, url, dir string, avoid ...func(path string) bool) (*Repo, error) {
	program, ok := git.Find("", avoid...)
	if !ok {
		return nil, fmt.Errorf("clone %s: %w", url, ErrNoGit)
	}
	// A process that looks while it is made sees nothing.
	room, err := scratch.New(filepath.Dir(dir), scratch.Clone)
	if err != nil {
		return nil, fmt.Errorf("clone %s: %w", url, err)
	}
	defer room.Close() //nolint:errcheck // what is left is a hidden folder, which is swept up
	half := room.Dir
	if _, err := program.Run(ctx, git.Call{
		Dir:    half,
		Remote: true,
		File:   isLocal(url),
		Args:   []string{"clone", "-q", "--no-checkout", "--", url, "repo"},
	}); err != nil {
		return nil, fmt.Errorf("clone %s: %w", url, err)
	}
	err = durable.SyncTree(half)
	if err == nil {
		err = os.Rename(filepath.Join(half, "repo"), dir)
	}
	if err == nil {
		err = durable.SyncDir(filepath.Dir(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("clone %s: %w", url, err)
	}
	return Open(ctx, dir, avoid...)
}

// CloneAt makes a repository in dir, which must not be there yet, with a commit of
// this one checked out. It borrows the objects, so it must not outlive them. No
// transport is used: the other end of one would heed the settings there.
func (r *Repo) CloneAt(ctx context.Context, dir, commit string) error {
	init := []string{"init", "-q", "--template="}
	if len(commit) == 64 {
		init = append(init, "--object-format=sha256")
	}
	if err := errors.Join(areNames(commit), os.MkdirAll(dir, 0o700)); err != nil {
		return fmt.Errorf("clone %s: %w", r.root, err)
	}
	if _, err := r.git.Run(ctx, git.Call{Dir: dir, Args: append(init, "--", dir)}); err != nil {
		return fmt.Errorf("clone %s: %w", r.root, err)
	}
	own := filepath.Join(dir, ".git")
	err := errors.Join(
		write(own, "objects/info/alternates", quoteAlternate(filepath.Join(r.common, "objects"))+"\n"),
		copyIndex(filepath.Join(r.common, "shallow"), filepath.Join(own, "shallow")),
	)
	if err != nil {
		return fmt.Errorf("clone %s: %w", r.root, err)
	}
	if _, err := r.git.Run(ctx, git.Call{
		Dir:  dir,
		Open: true,
		Args: []string{"checkout", "-q", "--detach", commit},
	}); err != nil {
		return fmt.Errorf("check out %s: %w", commit, err)
	}
	return nil
}

// Fetch brings a clone up to date with where it came from.
func (r *Repo) Fetch(ctx context.Context) error {
	origin := r.origin(ctx)
	if err := r.onWhole(ctx, git.Call{
		Dir:    r.root,
		Remote: true,
		File:   isLocal(origin),
		Args:   []string{"fetch", "-q", "--prune", "--tags", "--force", "origin"},
	}); err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	_, _ = r.git.Run(ctx, git.Call{ // a server may have no HEAD
		Dir:    r.root,
		Remote: true,
		File:   isLocal(origin),
		Args:   []string{"remote", "set-head", "origin", "--auto"},
	})
	return nil
}

// Commit is the id of the commit that a branch, tag or other name stands for;
// "" is HEAD. In a clone, the names of where it came from count first.
func (r *Repo) Commit(ctx context.Context, ref string, clone bool) (string, error) {
	names := []string{ref}
	switch {
	case ref == "" && clone:
		names = []string{"refs/remotes/origin/HEAD", "HEAD"}
	case ref == "":
		names = []string{"HEAD"}
	case clone:
		names = []string{"refs/remotes/origin/" + ref, "refs/tags/" + ref, ref}
	}
	for _, name := range names {
		if strings.HasPrefix(name, "-") {
			break
		}
		if id, err := r.run(ctx, "rev-parse", "-q", "--verify", name+"^{commit}"); err == nil {
			return id, nil
		} else if ctx.Err() != nil {
			return "", fmt.Errorf("look for %q: %w", ref, err)
		}
	}
	return "", fmt.Errorf("there is no branch, tag or commit %q in %s", ref, r.root)
}

// isLocal reports whether what is cloned is on this machine: a path, or a URL of
// one. To git, a word with a colon before the first slash is another machine.
func isLocal(url string) bool {
	before, _, _ := strings.Cut(url, "/")
	return strings.HasPrefix(url, "file://") || !strings.Contains(before, ":")
}

// origin is the URL that a clone was made from.
func (r *Repo) origin(ctx context.Context) string {
	url, _ := r.run(ctx, "config", "--get", "remote.origin.url") // without one nothing is fetched
	return url
}
