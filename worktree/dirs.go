package worktree

import (
	"io/fs"
	"path/filepath"
)

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

// CodeDirs are the parts of GitDirs that decide what git runs and which objects it
// takes: hooks and settings, of submodules too, and what leads elsewhere.
func (r *Repo) CodeDirs() []string {
	var out []string
	for _, dir := range r.GitDirs() {
		out = append(out, codeOf(dir)...)
		_ = filepath.WalkDir(filepath.Join(dir, "modules"), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return fs.SkipDir // there are none, or they cannot be read
			case d.IsDir() && (d.Name() == "objects" || d.Name() == "refs" || d.Name() == "logs"):
				return fs.SkipDir
			case !d.IsDir() && d.Name() == "HEAD":
				out = append(out, codeOf(filepath.Dir(path))...)
			}
			return nil
		})
	}
	return out
}

// codeOf are the files and directories that decide what git runs for one of its
// directories, and which objects it takes.
func codeOf(dir string) []string {
	var out []string
	for _, name := range []string{
		"hooks", "config", "config.worktree", "commondir", "gitdir", "info", "remotes", "branches",
		"objects/info/alternates", "objects/info/http-alternates",
	} {
		out = append(out, filepath.Join(dir, name))
	}
	return out
}

// DataNames are patterns of what git makes in GitDirs when commits are made there,
// and what tools keep their files in. Anything else that appears could decide what
// git runs.
func DataNames() []string {
	return []string{
		"objects", "refs", "logs", "packed-refs", "index", "HEAD", "*_HEAD", "*_MSG", "*_EDITMSG", "MERGE_MODE",
		"MERGE_RR", "AUTO_MERGE", "BISECT_*", "NOTES_*", "shallow", "description", "*.lock", "sharedindex.*",
		"plan-index-*", "gc.log", "gc.pid", "rr-cache", "lfs", "annex", "worktrees", "modules", "fsmonitor--daemon*",
	}
}
