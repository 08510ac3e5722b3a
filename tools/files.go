package tools

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/worktree/git"
)

// listing is the files below a directory, by paths relative to it, sorted.
type listing struct {
	files []string
	// git says that git made the list, so that ignored files are not in it.
	git bool
}

// list lists the files below a directory that exists. Where git knows the
// directory, ignored files are left out; a directory about which git has
// nothing to say (not a work tree, or wholly ignored but asked for by name) is
// walked. Files that are in git's index but were deleted are listed too.
func (s *Set) list(ctx context.Context, dir string) (listing, error) {
	files, ok := s.gitFiles(ctx, dir)
	if ok && len(files) > 0 {
		slices.Sort(files)
		return listing{slices.Compact(files), true}, nil
	}
	if err := ctx.Err(); err != nil {
		return listing{}, fmt.Errorf("list files: %w", err)
	}
	files, err := s.walk(ctx, dir)
	if err != nil {
		return listing{}, err
	}
	slices.Sort(files)
	return listing{files, false}, nil
}

// gitFiles asks git for the files below dir: for those in its index and for the
// others at the same time, since each takes about as long. Git is asked about the
// repository that the root is in and no other: what lies in the tree and looks like
// a repository, a submodule too, is listed as the folder that it is, without the
// files that its own .gitignore files leave out.
func (s *Set) gitFiles(ctx context.Context, dir string) ([]string, bool) {
	real, err := s.resolve(dir)
	if err != nil {
		return nil, false
	}
	l, ok := s.lister(ctx)
	if !ok {
		return nil, false
	}
	top := s.repoAround(real)
	below, _ := subpath.Of(top, real)
	files, err := l.files(ctx, top, below)
	if err != nil {
		return nil, false
	}
	out := files[:0]
	for _, file := range files { // which are relative to top
		if name, ok := subpath.Of(real, join(top, file)); ok {
			out = append(out, name)
		}
	}
	return out, true
}

// lister asks git about the repository that the root is in; false where there is none.
func (s *Set) lister(ctx context.Context) (*lister, bool) {
	around := git.Around(s.dir)
	if around == "" {
		return nil, false
	}
	program, ok := git.Find(around, s.cfg.Avoid)
	if !ok {
		return nil, false
	}
	l := &lister{set: s, git: program}
	l.gitDir = sync.OnceValues(func() (string, error) {
		out, err := l.git.Run(ctx, git.Call{
			Dir:  s.dir,
			Args: slices.Concat(anyOwner, []string{"rev-parse", "--absolute-git-dir"}),
		})
		return strings.TrimSuffix(out, "\n"), err
	})
	return l, true
}

// anyOwner has git read a repository that belongs to another user: it runs nothing
// of it.
var anyOwner = []string{"-c", "safe.directory=*"}

// repoAround is the innermost folder around a directory, or itself, that has a
// repository of its own, "." for that of the root.
func (s *Set) repoAround(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, err := s.root.Lstat(join(dir, ".git")); err == nil {
			return dir
		}
	}
	return "."
}

// lister lists files with the git of the root's repository.
type lister struct {
	set    *Set
	git    git.Program
	gitDir func() (string, error) // of the root's repository
}

// files lists the files of a repository at top, as far as they lie below a
// directory in it, relative to top. Of the root's it is the index and the others, of
// one inside it whatever is not ignored.
func (l *lister) files(ctx context.Context, top, below string) ([]string, error) {
	var indexed, others []string
	var group errgroup.Group
	if top == "." {
		group.Go(func() error {
			return l.ask(ctx, top, below, func(entry string) {
				if mode, name, ok := staged(entry); ok && mode == "160000" {
					indexed = append(indexed, l.nested(ctx, top, name)...)
				} else if ok {
					indexed = append(indexed, name)
				}
			}, "ls-files", "-s", "-z")
		})
	}
	group.Go(func() error {
		return l.ask(ctx, top, below, func(name string) {
			if inner, ok := strings.CutSuffix(name, "/"); ok {
				others = append(others, l.nested(ctx, top, inner)...)
			} else {
				others = append(others, name)
			}
		}, "ls-files", "-o", "--exclude-standard", "-z")
	})
	err := group.Wait()
	return append(indexed, others...), err
}

// staged takes apart what git ls-files --stage says of an indexed file: mode,
// hash and stage, then a tab and the name. Other files have just their names.
func staged(entry string) (mode, name string, ok bool) {
	const shortest = len("100644 ") + 40 + len(" 0")
	meta, name, ok := strings.Cut(entry, "\t")
	if !ok || len(meta) < shortest || meta[6] != ' ' || meta[len(meta)-2] != ' ' {
		return "", "", false
	}
	return meta[:6], name, true
}

// nested lists a repository inside another.
func (l *lister) nested(ctx context.Context, top, name string) []string {
	inner := join(top, name)
	if _, err := l.set.root.Lstat(join(inner, ".git")); err != nil {
		return nil // a submodule that is not checked out
	}
	names, err := l.files(ctx, inner, "")
	if err != nil {
		return nil
	}
	for i, f := range names {
		names[i] = join(name, f)
	}
	return names
}

// ask runs a git command that only reads, in a directory of the root, and hands over
// the entries that it prints as they come, which NULs end.
func (l *lister) ask(ctx context.Context, top, below string, take func(entry string), args ...string) error {
	dir := filepath.Join(l.set.dir, filepath.FromSlash(top))
	call := git.Call{
		Dir:  dir,
		Args: slices.Concat(anyOwner, args),
	}
	if top != "." { // an index file that is not there is an empty index
		own, err := l.gitDir()
		if err != nil {
			return fmt.Errorf("find the repository: %w", err)
		}
		call.Env = []string{
			"GIT_DIR=" + own, "GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + filepath.Join(own, "plan-no-index"),
		}
	}
	if below != "" && below != "." {
		call.Args = append(call.Args, "--", ":(literal)"+below)
	}
	entries := &splitter{take: take}
	call.Out = entries
	if _, err := l.git.Run(ctx, call); err != nil {
		return fmt.Errorf("list files: %w", err)
	}
	entries.end()
	return nil
}

// splitter takes entries apart that NULs end, while they are written.
type splitter struct {
	take func(entry string)
	rest string // of an entry that has not ended
}

// Write implements io.Writer.
func (s *splitter) Write(data []byte) (int, error) {
	text := s.rest + string(data)
	for {
		entry, after, ok := strings.Cut(text, "\x00")
		if !ok {
			s.rest = text
			return len(data), nil
		}
		text = after
		s.take(entry)
	}
}

// end takes what no NUL has ended.
func (s *splitter) end() {
	if s.rest != "" {
		s.take(s.rest)
	}
}

// walk lists the files below dir without git. Directories that cannot be read
// are left out.
func (s *Set) walk(ctx context.Context, dir string) ([]string, error) {
	root, err := s.root.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	defer root.Close() //nolint:errcheck // only read from
	var files []string
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil || name == ".":
			return nil
		case d.Name() == ".git" && d.IsDir():
			return fs.SkipDir
		case d.Name() != ".git" && (d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	return files, nil
}

// matcher is a glob pattern for paths.
type matcher struct {
	pattern string
	byName  bool
	except  bool
}

// newMatcher reads a glob pattern; the second result is what to tell the model
// about a bad one. A pattern without a slash is matched against the name at any
// depth, one with a slash against the path; a leading slash anchors. With a "!" before
// it, it means the files that it does not match, as with ripgrep.
func (s *Set) newMatcher(pattern string) (*matcher, string) {
	p, except := strings.CutPrefix(pattern, "!")
	p = strings.TrimPrefix(p, "./")
	if below, ok := strings.CutPrefix(p, filepath.ToSlash(s.dir)+"/"); ok {
		p = "/" + below
	}
	if rest, ok := strings.CutPrefix(p, "**/"); ok && !strings.Contains(rest, "/") && rest != "" {
		p = rest // a name at any depth says the same, and is found out faster
	}
	byName := !strings.Contains(p, "/")
	p = strings.TrimPrefix(p, "/")
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	switch {
	case p == "":
		return nil, "the glob pattern is empty; give one such as **/*.go"
	case p == ".." || strings.HasPrefix(p, "../") || strings.Contains(p, "/../"):
		return nil, fmt.Sprintf(
			"the glob pattern %q leads outside; give one relative to the repository root",
			pattern,
		)
	case !doublestar.ValidatePattern(p):
		return nil, fmt.Sprintf(
			"the glob pattern %q is malformed; brackets and braces must be closed (\\ escapes them)",
			pattern,
		)
	}
	return &matcher{p, byName, except}, ""
}

// match reports whether the file at name below dir is meant: the pattern may
// be relative to dir or to the root.
func (m *matcher) match(dir, name string) bool {
	if m.byName {
		return doublestar.MatchUnvalidated(m.pattern, path.Base(name)) != m.except
	}
	return (doublestar.MatchUnvalidated(m.pattern, name) ||
		dir != "." && doublestar.MatchUnvalidated(m.pattern, join(dir, name))) != m.except
}
