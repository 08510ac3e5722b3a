package worktree

import "path/filepath"

// GitDirs are the directories that hold the repository's own data: that of
// this work tree and the one that all work trees share, which are often the
// same. They lie in the work tree or elsewhere.
func (r *Repo) GitDirs() []string {
	if r.gitDir == r.common {
		return []string{r.gitDir}
	}
	return []string{r.gitDir, r.common}
}

// GitLink is the file in a linked work tree that says where its data is, "" in
// a work tree that holds its data itself.
func (r *Repo) GitLink() string {
	link := filepath.Join(r.root, ".git")
	if r.gitDir == link {
		return ""
	}
	return link
}

// CodeDirs are the parts of GitDirs that decide what git runs: hooks and
// settings.
func (r *Repo) CodeDirs() []string {
	var out []string
	for _, dir := range r.GitDirs() {
		for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "gitdir"} {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out
}
