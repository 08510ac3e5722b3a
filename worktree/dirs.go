package worktree

import (
	"os"
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
		for _, below := range modulesOf(dir) {
			if below.module {
				out = append(out, codeOf(below.path)...)
			}
		}
	}
	return out
}

// DataDir is a directory of the repository's own data in which only what holds data
// may be made.
type DataDir struct {
	Dir   string
	Names []string // patterns of what holds data
	// Linked says that it holds a folder for each work tree, or submodule.
	Linked bool
}

// DataDirs are those of GitDirs, also of submodules. Some may not be there.
func (r *Repo) DataDirs() []DataDir {
	var out []DataDir
	for _, dir := range r.GitDirs() {
		out = append(out, DataDir{Dir: dir, Names: dataNames()})
		for _, name := range []string{"worktrees", "modules"} {
			out = append(out, DataDir{Dir: filepath.Join(dir, name), Linked: true})
		}
		for _, below := range modulesOf(dir) {
			if !below.module { // a part of names
				out = append(out, DataDir{Dir: below.path, Linked: true})
				continue
			}
			out = append(out,
				DataDir{Dir: below.path, Names: dataNames()},
				DataDir{Dir: filepath.Join(below.path, "modules"), Linked: true},
			)
		}
	}
	return out
}

// moduleDir is a directory below modules: a submodule's own, or one that only is a
// part of the names of some.
type moduleDir struct {
	path   string
	module bool
}

// modulesOf finds what is below modules of one of git's directories.
func modulesOf(dir string) []moduleDir {
	var out []moduleDir
	entries, err := os.ReadDir(filepath.Join(dir, "modules"))
	if err != nil {
		return nil // there are none, or they cannot be read
	}
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, namesBelow(filepath.Join(dir, "modules", e.Name()))...)
		}
	}
	return out
}

func namesBelow(path string) []moduleDir {
	if exists(path, "HEAD") {
		return append([]moduleDir{{path: path, module: true}}, modulesOf(path)...)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	out := []moduleDir{{path: path}}
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, namesBelow(filepath.Join(path, e.Name()))...)
		}
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
	// What the user has begun names commands to go on with. Others begin such a thing
	// and end it.
	for _, name := range []string{"rebase-merge", "rebase-apply", "sequencer"} {
		if exists(dir, name) {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out
}

// dataNames are patterns of what git makes in GitDirs when commits are made there,
// and what tools keep their files in. Anything else that appears could decide what
// git runs.
func dataNames() []string {
	return []string{
		"objects", "refs", "logs", "packed-refs", "index", "HEAD", "*_HEAD", "*_MSG", "*_EDITMSG", "MERGE_MODE",
		"MERGE_RR", "AUTO_MERGE", "BISECT_*", "NOTES_*", "shallow", "description", "*.lock", "sharedindex.*",
		"plan-index-*", "gc.log", "gc.pid", "rr-cache", "lfs", "annex", "worktrees", "modules", "fsmonitor--daemon*",
	}
}
