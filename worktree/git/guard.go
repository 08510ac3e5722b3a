package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan/internal/plainfile"
)

// guard knows what of a repository's own settings may count, and what leads to its
// data. It looks again before every command, for others may write there.
type guard struct {
	plain Program // without a guard
	root  string
	dirs  []string // of the repository's data: that of the work tree first

	mu    sync.Mutex
	links map[string]string // as they were when the repository was opened
	kept  map[setting]bool  // that named programs outside the tree by then
	files []string          // in which settings were found
	mark  string            // of their contents
	// awaited are paths in the tree that words of settings would name if files were there.
	awaited []string
	loose   bool // a setting includes a file of which it cannot be said where it is
	over    []setting
	// barred are settings of the repository that lead elsewhere when a server is to
	// be reached, and that none in front of them overrides: the first counts, or all.
	barred []string
	// named are files that settings were found in, or name for git to read.
	named []string
	// within is what git may do, nil where programs that the user named run on files
	// and need what it cannot be known.
	within *confinement
}

// ChangedError says that what leads to the data of a repository is not what it was
// when it was opened.
type ChangedError struct{ Path string }

// Error implements error.
func (e *ChangedError) Error() string {
	return e.Path + ", which says where the repository has its data, was changed since it was opened"
}

// Hint says what to do about it.
func (e *ChangedError) Hint() string {
	return "See what it says, and put it back or remove it. Nothing was asked of git meanwhile."
}

// Guard is the program for a repository: root is the top of its work tree, dirs are
// where its data is. What its own settings name counts only as it is now, and as far
// as it leads outside the tree.
func (p Program) Guard(ctx context.Context, root string, dirs ...string) (Program, error) {
	g := &guard{
		plain: p,
		root:  root,
		dirs:  dirs,
	}
	g.plain.guard = nil
	if stray := filepath.Join(dirs[0], "commondir"); dirs[0] == filepath.Join(root, ".git") && isThere(stray) {
		return Program{}, fmt.Errorf(
			"%s leads to another repository, and git makes no such file there: remove it",
			stray,
		)
	}
	if _, _, err := g.overrides(ctx); err != nil {
		return Program{}, err
	}
	p.guard = g
	return p, nil
}

// LeadsError says that a server is not to be reached, since settings of the
// repository say how, and were changed or name programs of the tree.
type LeadsError struct{ Names []string }

// Error implements error.
func (e *LeadsError) Error() string {
	names := strings.Join(e.Names, ", ")
	return "the repository's own settings " + names + " name programs of its tree, or were changed"
}

// Hint says what to do about it.
func (e *LeadsError) Hint() string {
	return "See what they say with `git config --show-origin --get-all NAME`, and take them out."
}

// Like is the program for another work tree of the same repository: of its settings
// only what counts in the first one does.
func (p Program) Like(first Program) Program {
	first.guard.mu.Lock()
	known := maps.Clone(first.guard.kept)
	first.guard.mu.Unlock()
	p.guard.mu.Lock()
	defer p.guard.mu.Unlock()
	p.guard.kept, p.guard.mark = known, ""
	return p
}

// Unheeded are the settings of the repository that do not count although files look
// otherwise for it, sorted: filters and merge drivers that name programs of the tree
// or were changed.
func (p Program) Unheeded(ctx context.Context) ([]string, error) {
	over, _, err := p.guard.overrides(ctx)
	names := map[string]bool{}
	for _, s := range over {
		if section, _, _ := strings.Cut(s.name, "."); section == "filter" || section == "merge" {
			names[s.name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), err
}

// overrides are the settings that must come before the repository's own, and what git
// may do then.
func (g *guard) overrides(ctx context.Context) ([]setting, *confinement, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	links, err := g.readLinks()
	if err != nil {
		return nil, nil, err
	}
	if g.links == nil {
		g.links = links
	}
	for path, target := range g.links {
		if links[path] != target {
			return nil, nil, &ChangedError{Path: path}
		}
	}
	if g.mark != "" && g.mark == markOf(g.files) && !g.arrived() {
		return g.over, g.within, nil
	}
	if err := g.read(ctx); err != nil {
		return nil, nil, err
	}
	return g.over, g.within, nil
}

// leading are the settings that bar the way to servers.
func (g *guard) leading() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.barred)
}

// trees are the work trees of the repository, all of which runs may write.
func (g *guard) trees() []string {
	common := g.dirs[len(g.dirs)-1]
	out := []string{g.root}
	if filepath.Base(common) == ".git" {
		out = append(out, filepath.Dir(common))
	}
	links, _ := filepath.Glob(filepath.Join(common, "worktrees", "*", "gitdir"))
	for _, link := range links {
		if text, err := plainfile.Read(link); err == nil {
			out = append(out, filepath.Dir(strings.TrimSpace(string(text))))
		}
	}
	return out
}

// readLinks reads what leads from the work tree to the data of the repository.
func (g *guard) readLinks() (map[string]string, error) {
	common := g.dirs[len(g.dirs)-1]
	paths := []string{
		filepath.Join(g.root, ".git"),
		filepath.Join(common, "objects"),
		filepath.Join(common, "objects/info/alternates"),
		filepath.Join(common, "refs"),
	}
	for _, dir := range g.dirs {
		paths = append(paths, filepath.Join(dir, "commondir"), filepath.Join(dir, "gitdir"))
	}
	out := map[string]string{}
	for _, path := range paths {
		text, err := linkText(path)
		if err != nil {
			return nil, fmt.Errorf("see where the repository has its data: %w", err)
		}
		out[path] = text
	}
	return out, nil
}

// linkText tells the states of a path apart, but not what is in a directory.
func linkText(path string) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err != nil && !isThere(path):
		return "", nil
	case err != nil:
		return "", err //nolint:wrapcheck // names the path
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return "link " + target, err //nolint:wrapcheck // names the path
	case info.Mode().IsRegular():
		text, err := plainfile.Read(path)
		return "file " + string(text), err
	}
	return info.Mode().Type().String(), nil
}

func isThere(path string) bool {
	_, err := os.Lstat(path) //nolint:gosec // only looked at
	return err == nil
}

// markOf tells the states of some files apart.
func markOf(files []string) string {
	h := sha256.New()
	for _, path := range files {
		text, err := plainfile.Read(path)
		fmt.Fprintf(h, "%s\x00%v\x00%d\x00%s", path, err == nil, len(text), text)
	}
	return string(h.Sum(nil))
}

// entry is a setting and where it comes from.
type entry struct {
	setting
	users bool // it is the user's or the system's, from a file outside the tree, and names nothing in it
}

// read reads the settings anew. To list them runs nothing.
func (g *guard) read(ctx context.Context) error {
	g.loose, g.awaited = false, nil
	files := g.configFiles()
	known := slices.Concat(files, g.files)
	before := markOf(known)
	out, err := g.plain.Run(ctx, Call{
		Dir:  g.root,
		Args: []string{"config", "--list", "--show-scope", "--show-origin", "--includes", "-z"},
	})
	if err != nil {
		return err
	}
	entries, files := g.parse(out, files)
	g.judge(entries)
	g.within = nil
	isDriver := func(e entry) bool { return drives(e.setting) && g.counts(e) }
	if Confined() == nil && !slices.ContainsFunc(entries, isDriver) {
		within := g.confinement()
		g.within = &within
	}
	found := slices.ContainsFunc(files, func(path string) bool {
		return !slices.Contains(known, path) && Inside(path, append(g.trees(), g.dirs...)...)
	})
	if g.files, g.mark = files, ""; !found && !g.loose && before == markOf(known) { // else they are read again
		g.mark = markOf(files)
	}
	return nil
}

// parse reads what git lists of settings, and adds the files that they come from.
func (g *guard) parse(out string, files []string) ([]entry, []string) {
	var entries []entry
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") // scope, origin, name and value, scope, …
	for ; len(fields) >= 3; fields = fields[3:] {
		scope, origin := fields[0], fields[1]
		name, value, set := strings.Cut(fields[2], "\n")
		if !set {
			value = "true"
		}
		path, isFile := strings.CutPrefix(origin, "file:")
		if isFile && !filepath.IsAbs(path) {
			path = filepath.Join(g.root, path)
		}
		if isFile {
			files = missing(files, append(g.included(setting{name, value}, path), path)...)
		}
		own := isFile && (scope == "local" || scope == "worktree" || Inside(path, append(g.trees(), g.dirs...)...))
		if scope == "command" && !isFile {
			continue // our own
		}
		s := setting{name, value}
		entries = append(entries, entry{s, !own && (inert(s) || !g.leadsInside(s))})
		if isFile && (g.kept == nil || !own) { // what is named there later is not read
			g.name(path)
			g.name(namedBy(s, g.plain.users))
		}
	}
	return entries, files
}

// configFiles are those of the repository's own, whether they are there or not.
func (g *guard) configFiles() []string {
	var out []string
	for _, dir := range g.dirs {
		out = append(out, filepath.Join(dir, "config"), filepath.Join(dir, "config.worktree"))
	}
	return out
}

// name notes a file that git needs.
func (g *guard) name(path string) {
	if path != "" && !slices.Contains(g.named, path) {
		g.named = append(g.named, path)
	}
}

// counts reports whether a setting is the user's, or was there when the repository was
// opened, and led outside the tree and still does.
func (g *guard) counts(e entry) bool { return e.users || g.kept[e.setting] && g.outside(e.setting) }

// judge finds the settings that must not count, and what counts in their place.
// The first time, those that lead outside the tree are noted: they may.
func (g *guard) judge(entries []entry) {
	if g.kept == nil {
		g.kept = map[setting]bool{}
		for _, e := range entries {
			if !e.users && !inert(e.setting) && !strings.HasPrefix(e.name, "protocol.") && g.outside(e.setting) {
				g.kept[e.setting] = true
			}
		}
	}
	users := map[string][]string{}
	for _, e := range entries {
		if e.users {
			users[e.name] = append(users[e.name], e.value)
		}
	}
	g.over, g.barred = nil, nil
	done := map[string]bool{}
	for _, e := range entries {
		if done[e.name] || inert(e.setting) || g.counts(e) {
			continue
		}
		done[e.name] = true
		if redirects(e.name) {
			g.barred = append(g.barred, e.name)
			continue
		}
		g.over = append(g.over, neutral(e.name, users[e.name])...)
	}
}
