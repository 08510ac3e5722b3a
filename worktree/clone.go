package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Clone clones a repository into dir, without files: it is a store that work
// trees are made from. After an error nothing is left of it. The directory that
// dir is in must be there.
func Clone(ctx context.Context, url, dir string) (*Repo, error) {
	git, err := findGit("")
	if err != nil {
		return nil, fmt.Errorf("clone %s: %w", url, err)
	}
	// A process that looks while it is made sees nothing.
	half, err := os.MkdirTemp(filepath.Dir(dir), ".clone-")
	if err != nil {
		return nil, fmt.Errorf("clone %s: %w", url, err)
	}
	defer os.RemoveAll(half) //nolint:errcheck // what is left is a hidden folder
	if _, err := git.run(ctx, call{
		dir:  half,
		env:  remoteEnv(),
		args: []string{"clone", "-q", "--no-checkout", "--", url, "repo"},
	}); err != nil {
		return nil, fmt.Errorf("clone %s: %w", url, err)
	}
	if err := os.Rename(filepath.Join(half, "repo"), dir); err != nil {
		return nil, fmt.Errorf("clone %s: %w", url, err)
	}
	return Open(ctx, dir)
}

// Fetch brings a clone up to date with where it came from.
func (r *Repo) Fetch(ctx context.Context) error {
	fetch := []string{"fetch", "-q", "--prune", "--tags", "--force", "origin"}
	if _, err := r.git.run(ctx, call{
		dir:  r.root,
		env:  remoteEnv(),
		args: fetch,
	}); err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	_, _ = r.run(ctx, "remote", "set-head", "origin", "--auto") // a server may have no HEAD
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

// remoteEnv is what git needs of the environment to reach a server in the user's
// name, and nothing else gets.
func remoteEnv() []string {
	var out []string
	for _, name := range []string{"SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_ASKPASS"} {
		if v, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+v)
		}
	}
	return out
}
