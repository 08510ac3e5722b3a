package tools

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sync/errgroup"
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
// others at the same time, since each takes about as long. Submodules and other
// repositories inside are listed by their own rules.
func (s *Set) gitFiles(ctx context.Context, dir string) ([]string, bool) {
	var indexed, others []string
	var asked errgroup.Group
	asked.Go(func() error {
		return s.git(ctx, dir, func(entry string) {
			if mode, name, ok := staged(entry); ok && mode == "160000" {
				indexed = append(indexed, s.nested(ctx, dir, name)...)
			} else if ok {
				indexed = append(indexed, name)
			}
		}, "ls-files", "-s", "-z")
	})
	asked.Go(func() error {
		return s.git(ctx, dir, func(name string) {
			if inner, ok := strings.CutSuffix(name, "/"); ok {
				others = append(others, s.nested(ctx, dir, inner)...)
			} else {
				others = append(others, name)
			}
		}, "ls-files", "-o", "--exclude-standard", "-z")
	})
	if err := asked.Wait(); err != nil {
		return nil, false
	}
	return append(indexed, others...), true
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
func (s *Set) nested(ctx context.Context, dir, name string) []string {
	inner := join(dir, name)
	if _, err := s.root.Lstat(join(inner, ".git")); err != nil {
		return nil // a submodule that is not checked out
	}
	found, err := s.list(ctx, inner)
	if err != nil {
		return nil
	}
	for i, f := range found.files {
		found.files[i] = join(name, f)
	}
	return found.files
}

// git runs a git command that only reads, in a directory of the root, and hands
// over the entries that it prints as they come, which NULs end. The repository
// may come from anywhere: its configuration must not start programs.
func (s *Set) git(ctx context.Context, dir string, take func(entry string), args ...string) error {
	safe := []string{"-c", "core.fsmonitor=false", "-c", "safe.directory=*"}
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...)
	cmd.Dir = filepath.Join(s.dir, filepath.FromSlash(dir))
	cmd.Env = []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0"}
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.WaitDelay = time.Second
	entries := &splitter{take: take}
	cmd.Stdout = entries
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
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
}

// newMatcher reads a glob pattern; the second result is what to tell the model
// about a bad one. A pattern without a slash is matched against the name at any
// depth, one with a slash against the path; a leading slash anchors.
func (s *Set) newMatcher(pattern string) (*matcher, string) {
	p := strings.TrimPrefix(pattern, "./")
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
	return &matcher{p, byName}, ""
}

// match reports whether the file at name below dir is meant: the pattern may
// be relative to dir or to the root.
func (m *matcher) match(dir, name string) bool {
	if m.byName {
		return doublestar.MatchUnvalidated(m.pattern, path.Base(name))
	}
	return doublestar.MatchUnvalidated(m.pattern, name) ||
		dir != "." && doublestar.MatchUnvalidated(m.pattern, join(dir, name))
}
