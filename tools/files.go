package tools

import (
	"bytes"
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

// gitFiles asks git for the files below dir. Submodules and other repositories
// inside are listed by their own rules.
func (s *Set) gitFiles(ctx context.Context, dir string) ([]string, bool) {
	out, err := s.git(ctx, dir, "ls-files", "-c", "-o", "-s", "--exclude-standard", "-z")
	if err != nil {
		return nil, false
	}
	var files []string
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		name := string(entry)
		repository := strings.HasSuffix(name, "/")
		if mode, indexed, ok := staged(name); ok {
			name, repository = indexed, mode == "160000"
		}
		switch {
		case name == "":
		case repository:
			files = append(files, s.nested(ctx, dir, strings.TrimSuffix(name, "/"))...)
		default:
			files = append(files, name)
		}
	}
	return files, true
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

// git runs a git command that only reads, in a directory of the root. The
// repository is somebody else's: its configuration must not start programs.
func (s *Set) git(ctx context.Context, dir string, args ...string) ([]byte, error) {
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
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
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
	byName := !strings.Contains(p, "/")
	p = strings.TrimPrefix(p, "/")
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	switch {
	case p == "":
		return nil, "the glob pattern is empty; give one such as **/*.go"
	case p == ".." || strings.HasPrefix(p, "../") || strings.Contains(p, "/../"):
		return nil, fmt.Sprintf("the glob pattern %q leads outside; give one relative to the repository root", pattern)
	case !doublestar.ValidatePattern(p):
		return nil, fmt.Sprintf("the glob pattern %q is malformed; brackets and braces must be closed (\\ escapes them)", pattern)
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
